import type pg from 'pg';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { createJobPool, type JobPool } from '../../../src/db/jobs/job-pool.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { terminate, until } from '../../jobs/helpers.js';

const NOTHING = { command: '', rowCount: 0, oid: 0, fields: [], rows: [] };
const NOWHERE = 'postgresql://nobody@127.0.0.1:1/nothing';

let test: TestDatabase;
let db: Database;
let jobPool: JobPool;

beforeAll(async () => {
  test = await createTestDatabase();
});
beforeEach(() => {
  openPool(test.connectionString);
});
afterEach(() => db.close());
afterAll(() => test.drop());

function openPool(connectionString: string): void {
  db = connectDatabase({ connectionString, applicationName: 'job-pool' });
  jobPool = createJobPool(db);
}

interface Listener {
  client: pg.PoolClient;
  release(): void;
}

/** As the library requests it. */
function borrowListener(): Promise<Listener> {
  return new Promise((resolve, reject) => {
    jobPool.pool.connect((error, client, release) => {
      if (client === undefined) reject(error);
      else resolve({ client, release });
    });
  });
}

it('listens to nothing through a pooler in transaction mode, and takes no connection for it', async () => {
  await db.close();
  openPool(`${test.connectionString}?pgbouncer=true`);
  const { client, release } = await borrowListener();
  expect(await client.query('listen "jobs:insert"')).toEqual(NOTHING);
  expect(db.background.totalCount).toBe(0);
  release();
  expect(jobPool.isLost()).toBe(false);
});

describe('a statement', () => {
  it('that fails returns no rows, and its failure is the loss', async () => {
    expect(await jobPool.pool.query('select 1 / 0')).toEqual(NOTHING);
    expect(jobPool.isLost()).toBe(true);
    expect(await jobPool.lost).toMatchObject({ message: 'division by zero' });
  });

  it('returns no rows when the database cannot be reached', async () => {
    await db.close();
    openPool(NOWHERE);
    jobPool.returnEmptyOnFailure();
    const client = await jobPool.pool.connect();
    expect(await client.query('select 1')).toEqual(NOTHING);
    client.release();
    expect(await jobPool.lost).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('returns no rows when its connection is broken, and later ones do not fail', async () => {
    jobPool.returnEmptyOnFailure();
    const client = await jobPool.pool.connect();
    const sleeping = client.query('select pg_sleep(30)');
    const sleeps = `select from pg_stat_activity
      where query = 'select pg_sleep(30)' and datname = current_database()`;
    await until(async () => (await test.db.pool.query(sleeps)).rowCount === 1);
    await terminate(test.db, 'job-pool');
    expect(await sleeping).toEqual(NOTHING);
    expect(await jobPool.lost).toMatchObject({ code: '57P01' });
    expect(await client.query('select $1::int as n', [7])).toMatchObject({ rows: [{ n: 7 }] });
  });

  it('that succeeds is no loss, with values and under a name', async () => {
    jobPool.returnEmptyOnFailure();
    const client = await jobPool.pool.connect();
    const statement = { name: 'seven', text: 'select $1::int as n', values: [7] };
    expect((await client.query(statement)).rows).toEqual([{ n: 7 }]);
    expect((await jobPool.pool.query('select $1::int as n', [8])).rows).toEqual([{ n: 8 }]);
    expect(jobPool.isLost()).toBe(false);
  });
});

describe('until failures are hidden', () => {
  it('connecting rejects when it fails, and otherwise returns a real connection', async () => {
    const client = await jobPool.pool.connect();
    await expect(client.query('select 1 / 0')).rejects.toThrow('division by zero');
    client.release();
    await db.close();
    openPool(NOWHERE);
    await expect(jobPool.pool.connect()).rejects.toThrow('ECONNREFUSED');
    expect(jobPool.isLost()).toBe(false);
  });
});

describe('the connection that listens', () => {
  it('receives notifications until it is released', async () => {
    const { client, release } = await borrowListener();
    const heard: unknown[] = [];
    client.on('notification', ({ payload }) => heard.push(payload));
    await client.query('listen "jobs:insert"; listen other');
    await test.db.pool.query(`select pg_notify('jobs:insert', 'first')`);
    await until(() => heard.length === 1);
    await client.query('unlisten "jobs:insert"');
    release();
    release();
    await until(() => db.background.totalCount === 0);
    expect(heard).toEqual(['first']);
    expect(jobPool.isLost()).toBe(false);
  });

  it('does not report its end, which is the loss, and frees its place in the pool', async () => {
    const { client, release } = await borrowListener();
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    await client.query('listen "jobs:insert"');
    await terminate(test.db, 'job-pool');
    expect(await jobPool.lost).toMatchObject({ code: '57P01' });
    expect(db.background.totalCount).toBe(0);
    expect(await client.query('unlisten "jobs:insert"')).toEqual(NOTHING);
    release();
    expect(errors).toEqual([]);
  });

  it('that is broken while it begins to listen may still be released', async () => {
    const { client, release } = await borrowListener();
    const listening = client.query('select pg_sleep(30); listen "jobs:insert"');
    const unlistening = client.query('unlisten "jobs:insert"').then(release);
    await terminate(test.db, 'job-pool');
    expect(await listening).toEqual(NOTHING);
    await unlistening;
    release();
    await until(() => db.background.totalCount === 0);
  });

  it('is not handed out when the database cannot be reached', async () => {
    await db.close();
    openPool(NOWHERE);
    void borrowListener();
    expect(await jobPool.lost).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('survives a listener that throws, which is the loss', async () => {
    const { client } = await borrowListener();
    const failure = new Error('no listener');
    client.on('notification', () => {
      throw failure;
    });
    await client.query('listen "jobs:insert"');
    await test.db.pool.query('notify "jobs:insert"');
    expect(await jobPool.lost).toBe(failure);
    client.release();
  });
});
