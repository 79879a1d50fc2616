import type { Database } from '../../src/db/connection/database.js';

type Query = (config: { text: string } | string, ...values: unknown[]) => Promise<unknown>;

/**
 * The statements that PostgreSQL receives from `knex` and the pools while `work` runs, without those
 * that open and close transactions. One that is sent repeatedly is listed once.
 */
export async function statementsOf(db: Database, work: () => Promise<unknown>): Promise<string[]> {
  const texts = new Set<string>();
  const listener = ({ sql }: { sql: string }) => texts.add(sql.trim());
  const spies = [...new Set([db.pool, db.background])].map((pool) => {
    const query = pool.query.bind(pool) as Query;
    const spied: Query = (config, ...values) => {
      texts.add((typeof config === 'string' ? config : config.text).trim());
      return query(config, ...values);
    };
    return jest.spyOn(pool, 'query').mockImplementation(spied as never);
  });
  db.knex.on('query', listener);
  try {
    await work();
  } finally {
    db.knex.removeListener('query', listener);
    for (const spy of spies) spy.mockRestore();
  }
  return [...texts].filter((sql) => !/^(begin|commit|set |rollback)/i.test(sql));
}
