import pg from 'pg';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import {
  namedText,
  runOnPool,
  runPrepared,
} from '../../../src/db/connection/prepared-statements.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const NAMES = 'select name, statement from pg_prepared_statements order by prepare_time';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
});
afterEach(() => client.end());

async function run(text: string, values: unknown[] = []): Promise<unknown[]> {
  const { rows } = await client.query({ ...(await namedText(client, text)), values });
  return rows;
}

async function preparedTexts(): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(NAMES);
  return rows.map(({ statement }) => statement);
}

describe('a prepared statement', () => {
  it('is prepared at the third use of its text, on any connection', async () => {
    await run('select 1 as once');
    for (let use = 1; use <= 3; use += 1) {
      expect(await run('select ?::int as three', [use])).toEqual([{ three: use }]);
    }
    expect(await preparedTexts()).toEqual(['select $1::int as three']);
    const other = new pg.Client({ connectionString: database.connectionString });
    await other.connect();
    const { name } = await namedText(other, 'select ?::int as three');
    expect(name).toMatch(/^t_[\w-]{22}$/);
    await other.end();
  });

  it('makes room for the next when it was not used for longest', async () => {
    const text = (n: number) => `select ${n} as many`;
    for (let n = 0; n < 100; n += 1) for (let use = 0; use < 3; use += 1) await run(text(n));
    await run(text(0));
    for (let use = 0; use < 3; use += 1) await run(text(100));
    const texts = await preparedTexts();
    expect(texts).toHaveLength(100);
    expect(texts).not.toContain(text(1));
    expect(texts).toContain(text(0));
    expect(await run(text(1))).toEqual([{ many: 1 }]);
    expect(await preparedTexts()).toContain(text(1));
  });

  it('makes room although it could not be prepared', async () => {
    const text = (n: number) => `select ${n} as wrong`;
    for (let use = 0; use < 2; use += 1) await run(text(0));
    await client.query('begin');
    await expect(client.query('select 1/0')).rejects.toThrow();
    await expect(run(text(0))).rejects.toThrow('current transaction is aborted');
    await client.query('rollback');
    for (let n = 1; n <= 100; n += 1) for (let use = 0; use < 3; use += 1) await run(text(n));
    expect(await preparedTexts()).toHaveLength(100);
    expect(await run(text(0))).toEqual([{ wrong: 0 }]);
  });
});

describe('the pools', () => {
  const sql = {
    text: 'select ?::int as value, count(*) as n from pg_prepared_statements',
    bindings: [7],
  };

  const uses = async (db: Database): Promise<unknown[]> => {
    const found: unknown[] = [];
    for (let use = 0; use < 5; use += 1) {
      found.push(await inTransaction(db, (trx) => runPrepared(trx, sql)));
      found.push(await runPrepared(db.knex, sql));
      found.push(await runOnPool(db, sql));
    }
    return found;
  };

  it('prepare what is used repeatedly', async () => {
    const db = connectDatabase({ connectionString: database.connectionString, poolSize: 1 });
    const found = await uses(db);
    await db.close();
    expect(found[0]).toEqual([{ value: 7, n: 0 }]);
    expect(found.slice(-3)).toEqual(Array(3).fill([{ value: 7, n: 1 }]));
  });

  it('prepare nothing behind a transaction-mode pooler', async () => {
    const url = new URL(database.connectionString);
    url.searchParams.set('pgbouncer', 'true');
    const db = connectDatabase({ connectionString: url.href, poolSize: 1 });
    const found = await uses(db);
    await db.close();
    expect(found).toEqual(Array(15).fill([{ value: 7, n: 0 }]));
  });
});
