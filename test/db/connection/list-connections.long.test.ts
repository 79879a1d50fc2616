import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { AppError } from '../../../src/errors.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const SLEEP = { text: "select pg_sleep(20), 'costly' as mark", bindings: [] };
const gone = new AppError('unavailable', 503, 'the client has left');

/** Statements of lists that PostgreSQL runs at this moment. */
async function running(): Promise<number> {
  const { rows } = await test.db.pool.query(
    `select 1 from pg_stat_activity where state = 'active' and query like '%costly%'
     and datname = current_database() and pid <> pg_backend_pid()`,
  );
  return rows.length;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await condition()) return;
    await sleep(10);
  }
  throw new Error('the condition was not met in time');
}

const MODES = [
  ['with sessions', ''],
  ['behind a transaction-mode pooler', '&pgbouncer=true'],
] as const;

describe.each(MODES)('connections for lists %s', (_mode, parameter) => {
  let db: Database;
  beforeEach(() => {
    const url = new URL(test.connectionString);
    if (parameter !== '') url.searchParams.set('pgbouncer', 'true');
    db = connectDatabase({ connectionString: url.href, listTimeoutMs: 400 });
  });
  afterEach(() => db.close());

  const list = (signal?: AbortSignal, account = 'a') => db.lists.for({ account, signal });

  it('limit the time and the processors of a statement, and run the next one', async () => {
    const started = performance.now();
    await expect(list().run(SLEEP)).rejects.toMatchObject({
      code: 'query_too_expensive',
      status: 400,
    });
    expect(performance.now() - started).toBeLessThan(2_000);
    const show = "select current_setting('max_parallel_workers_per_gather') as workers";
    expect(valuesOf(await list().run({ text: show, bindings: [] }))).toEqual([{ workers: '0' }]);
  });

  it("accept placeholders and values, and parse the product's types", async () => {
    const text = 'select ?::bigint as a, ?::bigint[] as b, \'{"k":1}\'::jsonb \\? ? as c';
    const rows = await list().run({ text, bindings: [7, [8, 9], 'k'] });
    expect(valuesOf(rows)).toEqual([{ a: 7, b: [8, 9], c: true }]);
  });

  it('cancel the statement of a client that disconnected, and only that', async () => {
    const left = new AbortController();
    const slow = list(left.signal).run(SLEEP);
    const other = list(undefined, 'b').run({ ...SLEEP, text: "select pg_sleep(0.3), 'other'" });
    const refused = expect(slow).rejects.toBe(gone);
    await until(async () => (await running()) === 1);
    left.abort(gone);
    await refused;
    await until(async () => (await running()) === 0);
    await expect(other).resolves.toHaveLength(1);
  });

  it('fetch many rows in slices, up to a number of bytes, and stop when the client disconnects', async () => {
    const many = { text: "select n, repeat('x', 1000) as t from generate_series(1, ?) n" };
    const rows = await list().runSliced({ ...many, bindings: [1001] });
    expect(rows).toHaveLength(1001);
    const large = list().runSliced({ ...many, bindings: [100_000] }, 2 ** 20);
    await expect(large).rejects.toMatchObject({
      code: 'query_too_expensive',
      message: 'These rows hold more than 1 MB',
    });
    const left = new AbortController();
    const endless = list(left.signal).runSliced({ ...many, bindings: [100_000_000] });
    const refused = expect(endless).rejects.toBe(gone);
    await sleep(50);
    left.abort(gone);
    await refused;
    expect(valuesOf(await list().run({ text: 'select 1 as one', bindings: [] }))).toEqual([
      { one: 1 },
    ]);
  });

  it('leave no transaction open, whenever the client disconnects', async () => {
    const many = { text: 'select n from generate_series(1, ?) n', bindings: [5_000] };
    for (let round = 0; round < 60; round += 1) {
      const left = new AbortController();
      const slices = list(left.signal).runSliced(many);
      const leave = () => left.abort(gone);
      // At once, while the transaction is opened, or later.
      if (round % 2 === 0) setImmediate(leave);
      else setTimeout(leave, Math.random() * 5);
      await slices.catch((error: unknown) => expect(error).toBe(gone));
      expect(valuesOf(await list().run({ text: 'select 1 as one', bindings: [] }))).toEqual([
        { one: 1 },
      ]);
    }
  });

  it("never cancel the next read's statement on the same connection", async () => {
    const one = connectDatabase({
      connectionString: `${test.connectionString}${parameter.replace('&', '?')}`,
      poolSize: 1,
    });
    const brief = { text: 'select pg_sleep(0.002)', bindings: [] };
    const failures: unknown[] = [];
    for (let round = 0; round < 150; round += 1) {
      const left = new AbortController();
      const leaving = one.lists.for({ account: 'a', signal: left.signal }).run(brief);
      const next = one.lists
        .for({ account: 'b' })
        .run({ ...brief, text: 'select pg_sleep(0.004)' });
      setTimeout(() => left.abort(gone), Math.random() * 4);
      await leaving.catch((error: unknown) => {
        if (error !== gone) failures.push(error);
      });
      await next.catch((error: unknown) => failures.push(error));
    }
    await one.close();
    expect(failures).toEqual([]);
  });

  it('close everything when the server stops', async () => {
    const started = performance.now();
    const slow = Promise.allSettled(['a', 'b', 'c'].map((who) => list(undefined, who).run(SLEEP)));
    await until(async () => (await running()) === 3);
    await db.close();
    for (const { status } of await slow) expect(status).toBe('rejected');
    expect(performance.now() - started).toBeLessThan(5_000);
    await until(async () => (await running()) === 0);
  });
});

describe('a connection whose statement could not be cancelled', () => {
  it('is closed, so that a late request cancels no other statement', async () => {
    const db = connectDatabase({ connectionString: test.connectionString, poolSize: 1 });
    const { rows } = await db.lists.pool.query('select pg_backend_pid() as id');
    jest.spyOn(db.background, 'query').mockImplementation(() => {
      throw new Error('no connection');
    });
    const left = new AbortController();
    const slow = db.lists.for({ account: 'a', signal: left.signal }).run(SLEEP);
    const refused = expect(slow).rejects.toBe(gone);
    await until(async () => (await running()) === 1);
    left.abort(gone);
    await refused;
    const after = await db.lists.pool.query('select pg_backend_pid() as id');
    expect(after.rows[0].id).not.toBe(rows[0].id);
    await db.close();
  });
});

/** Rows have their columns as accessors. */
function valuesOf(rows: unknown[]): Record<string, unknown>[] {
  return (rows as Record<string, unknown>[]).map((row) => {
    const values: Record<string, unknown> = {};
    for (const name in row) values[name] = row[name];
    return values;
  });
}
