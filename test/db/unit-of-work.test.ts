import { inTransaction, type Transaction } from '../../src/db/unit-of-work.js';
import { AppError } from '../../src/errors.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function names(): Promise<string[]> {
  return test.db.knex('tags').orderBy('name').pluck<string[]>('name');
}

describe('a unit of work', () => {
  it('leaves nothing when it throws, and the error comes out as it is', async () => {
    const error = new AppError('conflict', 409, 'no');
    const work = inTransaction(test.db, async (trx) => {
      await trx('tags').insert({ name: 'lost' });
      throw error;
    });
    await expect(work).rejects.toBe(error);
    expect(await names()).toEqual([]);
  });

  it('tells a failure of the database as an error of the product', async () => {
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

  it('runs again when PostgreSQL gives it up to end a deadlock', async () => {
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
    // Whoever looks for a deadlock first finds it and is given up: that is the victim, always.
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
