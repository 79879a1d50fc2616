import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

const TRIGGERS = `
select c.relname as table, array(
  select attname::text from pg_attribute where attrelid = c.oid and attnum = any(t.tgattr) order by attname
) as columns
from pg_trigger t join pg_class c on c.oid = t.tgrelid
where t.tgname like '%_updated_at' order by c.relname`;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('the trigger that sets updated_at', () => {
  it('fires for each attribute that clients may change, and for no other column', async () => {
    const { rows } = await test.db.pool.query<{ table: string; columns: string[] }>(TRIGGERS);
    expect(rows.map(({ table }) => table)).toEqual(['device_groups', 'tags']);
    for (const { table, columns } of rows) {
      const definition = DEFINITIONS.find((one) => one.table === table);
      const changeable = Object.entries(definition?.attributes ?? {}).flatMap(
        ([name, { write, derivedFrom }]) => (write === 'always' ? (derivedFrom ?? [name]) : []),
      );
      expect([table, columns]).toEqual([table, changeable.sort()]);
    }
  });
});
