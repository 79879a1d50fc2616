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
});
