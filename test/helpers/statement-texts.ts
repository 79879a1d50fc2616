import makeKnex, { type Knex } from 'knex';
import type { Database } from '../../src/db/connection/database.js';

/** Runs statements on a `knex`, or a transaction, and a `db` that only record them. */
export type Work = (recorder: { knex: Knex.Transaction; db: Database }) => Promise<unknown>;

interface Compiled {
  sql: string;
}

/** A statement of Knex, and what its types leave open of the client. */
interface Query {
  sql?: unknown;
  toSQL(): Compiled;
}
interface Client {
  processResponse(query: Compiled & { response: object }): unknown;
}

/**
 * The statements that `work` runs, with their parts, without a database: each returns `rows`.
 * `statementsOf` lists those that PostgreSQL receives.
 */
export async function statementTexts(work: Work, rows: readonly object[] = []): Promise<string> {
  const texts: string[] = [];
  const run = (text: string) => {
    texts.push(text);
    return Promise.resolve({ rows: [...rows], rowCount: rows.length });
  };
  const builder = makeKnex({ client: 'pg' });
  const client = Object.assign(builder.client as Client, {
    acquireConnection: () => Promise.resolve({}),
    releaseConnection: () => Promise.resolve(),
    query: async (_connection: unknown, { sql }: Compiled) => ({ response: await run(sql) }),
    runner: (query: Query) => ({ run: () => answer(query) }),
  });
  const answer = async (query: Query) => {
    // A raw statement keeps its named parameters.
    if (typeof query.sql === 'string') return run(query.sql);
    const compiled = query.toSQL();
    const response = { ...(await run(compiled.sql)), command: 'SELECT' };
    return client.processResponse({ ...compiled, response });
  };
  const raw = (...of: Parameters<Knex['raw']>) => builder.raw(...of);
  const parts = { raw, client, fn: builder.fn, userParams: {}, isTransaction: true };
  const knex = Object.assign((table: string) => builder(table), parts);
  const background = { query: ({ text }: { text: string }) => run(text) };
  const list = { run: async ({ text }: { text: string }) => (await run(text)).rows };
  const db = { knex, background, lists: { for: () => list }, namedStatements: true };
  await work({ knex, db } as unknown as Parameters<Work>[0]);
  return texts.join('\n;\n');
}
