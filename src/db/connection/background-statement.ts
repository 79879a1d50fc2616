import type pg from 'pg';
import type { Database, Statement } from './database.js';

/** A connection that went silent must not stop the work for good. */
export const ANSWER_TIMEOUT_MS = 15_000;

/** As runStatement, on a connection of the background work. */
export function runInBackground<Row extends pg.QueryResultRow>(
  { background, namedStatements }: Database,
  { name, text }: Statement,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const query = { text, values, query_timeout: ANSWER_TIMEOUT_MS };
  return background.query<Row>(namedStatements ? { ...query, name } : query);
}
