import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrate, rollback } from '../../../src/db/schema/migrate.js';
import { createLogger } from '../../../src/logger.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { dumpSchema } from '../../helpers/schema.js';

/** After a new migration: UPDATE_SCHEMA=1 npx jest test/db/schema/schema-snapshot, and read the diff. */
const SNAPSHOT = join(__dirname, 'schema.snapshot.txt');

/**
 * COPY's binary format has the name of an enum's value, but the server's number of an enum in an array, of a composite
 * type and of an object (regclass and its kind). 16384 is the first number of what is not built in.
 */
const COLUMNS_OF_ONE_SERVER = `
select format('%s.%s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod)) as column
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
  left join pg_type b on b.oid = t.typbasetype left join pg_type e on e.oid = coalesce(b.typelem, t.typelem)
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  and (coalesce(b.typname, t.typname) ~ '^(_?reg|_?oid$|oidvector$)' or coalesce(b.typtype, t.typtype) not in ('b', 'e')
    or e.oid >= 16384)
order by 1`;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

describe('the schema that the migrations make', () => {
  it('is the one in the snapshot', async () => {
    const schema = await dumpSchema(test.db);
    if (process.env.UPDATE_SCHEMA === '1') writeFileSync(SNAPSHOT, schema);
    expect(schema).toBe(readFileSync(SNAPSHOT, 'utf8'));
  });

  it('has no trigger with a long condition: each statement that sets its columns reads it from text', async () => {
    const { rows } = await test.db.pool.query(`
      select tgrelid::regclass || '.' || tgname as long from pg_trigger
      where length(tgqual::text) > 8000 order by 1`);
    expect(rows).toEqual([]);
  });

  it('has no column whose bytes in a backup mean something on one server only', async () => {
    const found = async () =>
      (await test.db.pool.query<{ column: string }>(COLUMNS_OF_ONE_SERVER)).rows.map(
        ({ column }) => column,
      );
    expect(await found()).toEqual([]);
    await test.db.pool.query(`
      create type kind as enum ('a', 'b'); create type pair as (a int, b int);
      create domain word as text; create domain kinds as kind[];
      create table one (good kind, fine word, names text[], kinds kind[], pair pair, same kinds,
        what regclass, whats regproc[], number oid, span int4range)`);
    expect(await found()).toEqual([
      'one.kinds kind[]',
      'one.number oid',
      'one.pair pair',
      'one.same kinds',
      'one.span int4range',
      'one.what regclass',
      'one.whats regproc[]',
    ]);
    await test.db.pool.query(
      'drop table one; drop type kind cascade; drop type pair; drop domain word',
    );
  });

  it('is the same after the migrations were reverted and applied again', async () => {
    const before = await dumpSchema(test.db);
    const logger = createLogger('silent');
    await rollback(test.db, { logger, all: true });
    expect((await dumpSchema(test.db)).trim()).toBe('');
    await migrate(test.db, { logger });
    expect(await dumpSchema(test.db)).toBe(before);
  });
});
