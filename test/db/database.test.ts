import { type Database, runStatement } from '../../src/db/database.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
});
afterAll(() => test.drop());

describe('a connected database', () => {
  it('has the schema', async () => {
    const rows = await db.knex('tags').insert({ name: 'blue' }).returning('*');
    expect(rows).toEqual([{ id: 1, name: 'blue', color: '888888' }]);
  });

  it('runs statements', async () => {
    const result = await runStatement(db, { name: 't', text: 'select $1::bigint as a' }, [5]);
    expect(result.rows).toEqual([{ a: 5 }]);
  });
});
