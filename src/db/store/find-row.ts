import type { FindQuery, Row } from '../../jsonapi/store.js';
import { type Database, runStatement, type Statement } from '../connection/database.js';
import { toAppError } from '../connection/sqlstate.js';
import { quoted } from './filter-sql.js';
import { columnList } from './list-query.js';

/** Sparse fieldsets could make any number of texts; those beyond are planned each time. */
const MOST_PREPARED = 200;

const names = new Map<string, string>();

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MOST_PREPARED) return known;
  const name = `find_${names.size}`;
  names.set(text, name);
  return name;
}

/**
 * One row by its id, outside of any transaction. Prepared: to plan the selection of a device's 200
 * columns costs four times as much as to run it.
 */
export async function findRow(
  db: Database,
  { shape, id, columns }: FindQuery,
): Promise<Row | undefined> {
  const text = `select ${columnList(columns)} from ${quoted(shape.table)} as t0 where t0."id" = $1`;
  const name = nameOf(text);
  try {
    const { rows } = await (name === undefined
      ? db.pool.query<Row>(text, [id])
      : runStatement<Row>(db, { name, text } satisfies Statement, [id]));
    return rows[0];
  } catch (error) {
    throw toAppError(error);
  }
}
