import { inTransaction } from '../../src/db/unit-of-work.js';
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
    await test.db.knex('tags').insert([{ name: 'left' }, { name: 'right' }]);
    let runs = 0;
    const both = { holding: 0, release: () => {} };
    const bothHoldOne = new Promise<void>((resolve) => {
      both.release = resolve;
    });
    const recolour = (first: string, second: string) =>
      inTransaction(test.db, async (trx) => {
        runs += 1;
        await trx.raw(`set local deadlock_timeout = '50ms'`);
        await trx('tags').where({ name: first }).update({ color: 'ffffff' });
        both.holding += 1;
        if (both.holding === 2) both.release();
        await bothHoldOne;
        await trx('tags').where({ name: second }).update({ color: '000000' });
      });
    await Promise.all([recolour('left', 'right'), recolour('right', 'left')]);
    expect(runs).toBe(3);
    const colours = await test.db.knex('tags').whereIn('name', ['left', 'right']).pluck('color');
    expect(colours.sort()).toEqual(['000000', 'ffffff']);
  });
});
