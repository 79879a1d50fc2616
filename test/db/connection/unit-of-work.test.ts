import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { inTransaction, type Transaction } from '../../../src/db/connection/unit-of-work.js';
import { AppError } from '../../../src/errors.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { breakConnections, duringOutage } from '../../helpers/outage.js';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function names(): Promise<string[]> {
  return test.db.knex('tags').orderBy('name').pluck<string[]>('name');
}

describe('a unit of work', () => {
  it('stores nothing when it throws, and rejects with the same error', async () => {
    const error = new AppError('conflict', 409, 'no');
    const work = inTransaction(test.db, async (trx) => {
      await trx('tags').insert({ name: 'lost' });
      throw error;
    });
    await expect(work).rejects.toBe(error);
    expect(await names()).toEqual([]);
  });

  it('throws a database error as an AppError', async () => {
    const work = inTransaction(test.db, async (trx) => {
      await trx('tags').insert({ name: 'twice' });
      await trx('tags').insert({ name: 'twice' });
    });
    await expect(work).rejects.toMatchObject({ code: 'already_exists', status: 409 });
    expect(await names()).toEqual([]);
  });

  it('is committed with its result when it resolves', async () => {
    const count = await inTransaction(test.db, async (trx) => {
      await trx('tags').insert([{ name: 'a' }, { name: 'b' }]);
      return 2;
    });
    expect(count).toBe(2);
    expect(await names()).toEqual(['a', 'b']);
  });

  it('runs again when PostgreSQL aborts it to end a deadlock', async () => {
    const { db } = test;
    await db.knex('tags').insert([{ name: 'left' }, { name: 'right' }]);
    const colour = (trx: Transaction, name: string, color: string) =>
      trx('tags').where({ name }).update({ color });
    const runs = { patient: 0, victim: 0 };
    let holding = 0;
    let release = () => {};
    const bothHoldOne = new Promise<void>((resolve) => {
      release = resolve;
    });
    const meet = () => {
      holding += 1;
      if (holding === 2) release();
      return bothHoldOne;
    };
    // The backend with the shorter deadlock_timeout detects the deadlock and is always the victim.
    const patient = inTransaction(db, async (trx) => {
      runs.patient += 1;
      await trx.raw(`set local deadlock_timeout = '20s'`);
      await colour(trx, 'left', 'ffffff');
      await meet();
      await colour(trx, 'right', 'ffffff');
    });
    const victim = inTransaction(db, async (trx) => {
      runs.victim += 1;
      if (runs.victim > 1) await patient;
      await trx.raw(`set local deadlock_timeout = '50ms'`);
      await colour(trx, 'right', '000000');
      await meet();
      await colour(trx, 'left', '000000');
    });
    await Promise.all([patient, victim]);
    expect(runs).toEqual({ patient: 1, victim: 2 });
    const colours = await db.knex('tags').whereIn('name', ['left', 'right']).pluck('color');
    expect(colours).toEqual(['000000', '000000']);
  });
});

describe('a unit of work whose connection is lost', () => {
  const applicationName = 'own';
  let own: Database;

  beforeEach(() => {
    own = connectDatabase({ connectionString: test.connectionString, applicationName });
  });
  afterEach(() => own.close());

  const loseConnection = () => breakConnections(test, applicationName);
  const lost = { code: 'unavailable', status: 503, message: 'The database is not available' };

  it('rejects with the first failure, though it cannot be rolled back', async () => {
    const error = new AppError('conflict', 409, 'no');
    const work = inTransaction(own, async () => {
      await loseConnection();
      throw error;
    });
    await expect(work).rejects.toBe(error);
  });

  it('is unavailable at its next statement', async () => {
    const work = inTransaction(own, async (trx) => {
      await loseConnection();
      await trx('tags').insert({ name: 'lost' });
    });
    await expect(work).rejects.toMatchObject(lost);
    expect(await names()).not.toContain('lost');
  });

  it('is unavailable at its commit', async () => {
    const work = inTransaction(own, async (trx) => {
      await trx('tags').insert({ name: 'lost' });
      await loseConnection();
    });
    await expect(work).rejects.toMatchObject(lost);
    expect(await names()).not.toContain('lost');
  });

  it('does not run when it cannot begin', async () => {
    const runs: string[] = [];
    const run = () => inTransaction(own, async () => void runs.push('ran'));
    await duringOutage(test, () => expect(run()).rejects.toMatchObject(lost));
    const connection = await own.knex.client.acquireConnection();
    own.knex.client.releaseConnection(connection);
    // Broken silently, as by a firewall: the first statement fails.
    const end = new Promise((resolve) => connection.once('end', resolve));
    connection.query = (_statement: unknown, answer: (error: Error) => void) => {
      connection.connection.stream.destroy();
      answer(new Error('Connection terminated unexpectedly'));
    };
    await expect(run()).rejects.toMatchObject(lost);
    await end;
    expect(runs).toEqual([]);
    await run();
    expect(runs).toEqual(['ran']);
  });
});
