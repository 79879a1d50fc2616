import {
  connectDatabase,
  type Database,
  runStatement,
} from '../../../src/db/connection/database.js';
import { connectionUrl } from '../../helpers/connection-url.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { duringOutage } from '../../helpers/outage.js';
import { capturingLogger } from '../../http/log-lines.js';

const TYPES = `select 9007199254740991::bigint as big, array[1, null, 3]::bigint[] as bigs,
  '2026-11-21T10:00:00.123Z'::timestamptz as at, '\\x0102'::bytea as bytes,
  1.5::float8 as real, '{"a": 1}'::jsonb as json`;
const PARSED = {
  big: 9007199254740991,
  bigs: [1, null, 3],
  at: new Date('2026-11-21T10:00:00.123Z'),
  bytes: Buffer.of(1, 2),
  real: 1.5,
  json: { a: 1 },
};

let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
});
afterAll(() => test.drop());

async function preparedNames(): Promise<unknown[]> {
  const result = await db.pool.query('select name from pg_prepared_statements');
  return result.rows;
}

describe('a connected database', () => {
  it('parses values in the same way in all pools', async () => {
    expect((await db.knex.raw(TYPES)).rows).toEqual([PARSED]);
    expect((await db.pool.query(TYPES)).rows).toEqual([PARSED]);
  });

  it('sets its name and time limits in the session', async () => {
    const names = ['application_name', 'statement_timeout', 'lock_timeout'];
    for (const client of [db.knex, db.pool]) {
      const shown = names.map((name) => `current_setting('${name}') as ${name}`).join(', ');
      const result = await ('raw' in client
        ? client.raw(`select ${shown}`)
        : client.query(`select ${shown}`));
      expect(result.rows).toEqual([
        { application_name: 'muster', statement_timeout: '30s', lock_timeout: '10s' },
      ]);
    }
  });

  it('survives the loss of its connections', async () => {
    const end =
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
    const other = connectDatabase({ connectionString: test.connectionString });
    await other.pool.query('select 1');
    await other.knex.raw('select 1');
    await db.pool.query(end);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await other.pool.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
    expect((await other.knex.raw('select 1 as n')).rows).toEqual([{ n: 1 }]);
    await Promise.all([other.close(), other.close()]);
  });

  it('logs an outage in a few lines, however many statements fail', async () => {
    const { logger, lines } = capturingLogger();
    const other = connectDatabase({ connectionString: test.connectionString, logger });
    const threeTimes = (ask: () => PromiseLike<unknown>) =>
      Promise.allSettled([ask(), ask(), ask()]);
    const ask = async () => {
      await threeTimes(() => other.pool.query('select pg_sleep(0.01)'));
      await threeTimes(() => other.knex.raw('select pg_sleep(0.01)'));
    };
    await ask();
    await duringOutage(test, ask);
    await other.close();
    const kinds = lines.map(({ msg, detail }) => `${msg}: ${detail}`);
    const logged = kinds.filter((_kind, at) => lines[at]?.level === 40);
    expect(logged).toEqual([...new Set(kinds)]);
    expect(logged).toContainEqual(
      expect.stringMatching(/^database driver: Acquire connection error: [^\n]*accepting[^\n]*$/),
    );
    expect(lines.length).toBeGreaterThan(logged.length);
  });
});

describe('a statement of the device path', () => {
  it('is prepared under its name', async () => {
    const statement = { name: 'add_one', text: 'select $1::int + 1 as n' };
    expect((await runStatement(db, statement, [1])).rows).toEqual([{ n: 2 }]);
    expect(await preparedNames()).toEqual([{ name: 'add_one' }]);
  });

  it('has no name behind a transaction-mode pooler, which gets no session settings either', async () => {
    const url = new URL(test.connectionString);
    url.searchParams.set('pgbouncer', 'true');
    const pooled = connectDatabase({ connectionString: url.href, poolSize: 1 });
    await runStatement(pooled, { name: 'pooled', text: 'select 1' }, []);
    const result = await pooled.pool.query(
      "select current_setting('statement_timeout') as timeout, (select count(*) from pg_prepared_statements) as prepared",
    );
    expect(result.rows).toEqual([{ timeout: '0', prepared: 0 }]);
    await pooled.close();
  });
});

describe('the URL of a connection', () => {
  it('names a host', () => {
    const connection = {
      host: '127.0.0.1',
      port: 5433,
      user: 'me',
      password: 'a/b',
      database: 'd',
    };
    expect(connectionUrl(connection)).toBe('postgresql://me:a%2Fb@127.0.0.1:5433/d');
  });

  it('names the directory of a unix socket', () => {
    const connection = { host: '/run/x', port: 5432, user: 'me', password: 'p', database: 'd' };
    expect(connectionUrl(connection)).toBe(
      'postgresql://me:p@localhost/d?host=%2Frun%2Fx&port=5432',
    );
  });
});
