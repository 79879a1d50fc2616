import type { Knex } from 'knex';
import { planLines } from '../../../src/cli/migrate/migration-plan-text.js';
import type { Database } from '../../../src/db/connection/database.js';
import { migrate } from '../../../src/db/schema/migrate.js';
import { migrationEffects, planMigrations } from '../../../src/db/schema/migration-plan.js';
import {
  DirectoryMigrationSource,
  MIGRATIONS_DIRECTORY,
} from '../../../src/db/schema/migration-source.js';
import { readCatalog } from '../../../src/db/schema/schema-catalog.js';
import { type Blocked, type Effect, effectsOf } from '../../../src/db/schema/statement-effects.js';
import { createLogger } from '../../../src/logger.js';
import { createEmptyDatabase, type TestDatabase } from '../../helpers/database.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';
import { directoryWith, migration } from './migration-directory.js';

const source = new DirectoryMigrationSource(MIGRATIONS_DIRECTORY);
const LEVELS: Blocked[] = ['nothing', 'writes', 'reads and writes'];

let test: TestDatabase;
let db: Database;

beforeEach(async () => {
  test = await createEmptyDatabase();
  db = test.db;
});
afterEach(() => test.drop());
afterAll(removeTemporaryDirectories);

/** Tables by name, and the file that each is in: another one after it was written anew. */
async function files(trx: Knex): Promise<Map<string, string>> {
  const { rows } = await trx.raw<{ rows: { name: string; file: string }[] }>(
    `select relname as name, relfilenode::text as file from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map(({ name, file }) => [name, file]));
}

const LOCKS = `
select c.relname as name, array_agg(l.mode) as modes
from pg_locks l join pg_class c on c.oid = l.relation
where l.pid = pg_backend_pid() and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
group by 1`;

function levelOf(modes: string[]): number {
  if (modes.includes('AccessExclusiveLock')) return 2;
  const ofWriters = ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock'];
  return modes.some((mode) => ofWriters.includes(mode)) ? 1 : 0;
}

function claimed(effects: Effect[], table: string): number {
  const levels = effects.filter((one) => one.table === table).map(({ blocks }) => blocks);
  return Math.max(0, ...levels.map((blocks) => LEVELS.indexOf(blocks)));
}

describe('the plan of the migrations', () => {
  it('says of every migration of the product what it really locks and writes anew', async () => {
    const wrong: string[] = [];
    for (const name of source.names()) {
      const effects = await migrationEffects(source, name, await readCatalog(db));
      const loaded = await source.getMigration(name);
      if (!source.usesTransaction(name)) {
        await loaded.up(db.knex);
        continue;
      }
      await db.knex.transaction(async (trx) => {
        const before = await files(trx);
        await loaded.up(trx);
        const after = await files(trx);
        const { rows } = await trx.raw<{ rows: { name: string; modes: string[] }[] }>(LOCKS);
        for (const { name: table, modes } of rows) {
          if (!before.has(table)) continue;
          const [real, said] = [levelOf(modes), claimed(effects, table)];
          if (real > said) wrong.push(`${name} ${table}: ${LEVELS[real]}, not ${LEVELS[said]}`);
          const isRewritten =
            after.get(table) !== undefined && after.get(table) !== before.get(table);
          const grows = effects.some((one) => one.table === table && one.grows);
          if (isRewritten && !grows) wrong.push(`${name} ${table} is written anew`);
        }
      });
    }
    expect(wrong).toEqual([]);
  });

  it('leaves out what a migration leaves out for an older server', async () => {
    const catalog = await readCatalog(db);
    const namesOf = async (serverVersion: number) => {
      const one = { ...catalog, serverVersion };
      const effects = await migrationEffects(source, '20261129190000_times_of_commands', one);
      return effects.map(({ name }) => name).filter((name) => name !== '');
    };
    const [texts, analyzed] = ['installed_certificates_texts', 'analyze installed_certificates'];
    const times = ['commands_sent_at', 'commands_acknowledged_at'];
    expect(await namesOf(150_005)).toEqual([texts, analyzed]);
    expect(await namesOf(160_000)).toEqual([texts, ...times, analyzed]);
  });

  it('shows what is pending, step by step, with the rows of large tables, and changes nothing', async () => {
    await db.knex.raw(`
      create table devices (id bigint primary key, name text);
      create table tags (id bigint primary key);
      insert into devices select n, 'x' from generate_series(1, 1234) n;
      analyze devices`);
    const directory = directoryWith({
      '20990101000000_first.js': migration(`
-- A comment; with a semicolon.
create table notes (id bigint, tag_id bigint references tags on delete cascade, text text default 'a;b');
create index notes_tag on notes (tag_id);
alter table devices add column note text, add column at timestamptz not null default now();
create function noted() returns trigger language plpgsql as $$ begin update tags set id = 1; end $$;
create trigger devices_noted after insert on devices for each row execute function noted();
create trigger devices_left after delete on devices for each row execute function noted();
update devices set note = 'y'`),
      '20990102000000_second.js': migration('alter table devices alter column name set not null'),
      '20990103000000_index.js': `exports.config = { transaction: false };
exports.up = (knex) => knex.raw('create index concurrently devices_name on devices (name)');
exports.down = async () => undefined;\n`,
      '20990104000000_rows.js': `exports.config = { transaction: false };
exports.up = async (knex) => {
  for (const { id } of await knex('tags').select('id')) await knex('tags').where({ id }).delete();
};
exports.down = async () => undefined;\n`,
    });
    const steps = await planMigrations(db, directory);
    expect(planLines(steps)).toEqual([
      '4 migrations in 3 steps. Nothing was changed.',
      '',
      'Step 1: one transaction; if it fails, the schema stays as it was before this step.',
      '  20990101000000_first',
      '    creates the table notes',
      '    refers to tags',
      '    adds the columns note, at to devices',
      '    defines the function noted',
      '    adds the triggers devices_noted, devices_left on devices',
      '    changes rows of devices (about 1,234 rows)',
      '  20990102000000_second',
      '    changes devices (about 1,234 rows)',
      '  Blocks reads and writes of devices, and writes of tags until the step has ended.',
      '  How long it takes was not measured.',
      '',
      'Step 2: outside a transaction; if it is interrupted, the next start does it again.',
      '  20990103000000_index',
      '    builds the index devices_name on devices (about 1,234 rows)',
      '  Blocks nothing.',
      '  How long it takes was not measured.',
      '',
      'Step 3: outside a transaction; if it is interrupted, the next start does it again.',
      '  20990104000000_rows',
      '    what it does depends on the rows that it finds',
      '  Blocks nothing.',
      '  How long it takes was not measured.',
    ]);
    const left = await db.knex('pg_tables').where({ schemaname: 'public' }).pluck('tablename');
    expect(new Set(left)).toEqual(new Set(['devices', 'tags']));
    expect(await db.knex('pg_class').where({ relname: 'knex_migrations' })).toEqual([]);
  });

  it('says how long a step took where it was tried', () => {
    const step = (...times: (number | undefined)[]) =>
      planLines([
        {
          inTransaction: true,
          migrations: times.map((measuredMs, n) => ({ name: `m${n}`, effects: [], measuredMs })),
        },
      ]).at(-1);
    const where = 'where it was tried: 1,000,000 devices, 1,000,000 commands, and 2 cores.';
    expect(step(340, 1_210)).toBe(`  It took 1.6 s ${where}`);
    expect(step(340, undefined)).toBe(`  1 of these 2 migrations took 0.3 s ${where}`);
    expect(step(undefined)).toBe('  How long it takes was not measured.');
  });

  it('is empty when the schema is up to date', async () => {
    expect(planLines(await planMigrations(db, directoryWith({})))).toEqual([
      'nothing to do: the schema is up to date',
    ]);
  });

  it('is refused for a database that is newer', async () => {
    await migrate(db, {
      logger: createLogger('silent'),
      directory: directoryWith({ '20990101000000_first.js': migration('select 1') }),
    });
    await expect(planMigrations(db)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it.each([
    ["insert into a (b) values ('update c set d')", ['adds rows a nothing']],
    [
      'with x as (delete from a returning *) insert into b select * from x',
      ['removes rows a nothing', 'adds rows b nothing'],
    ],
    ['insert into a select 1 on conflict (b) do update set c = 1', ['adds rows a nothing']],
    ['with x as (select 1 from a for update of a) update b set c = 1', ['changes rows b nothing']],
    [
      'alter table a add constraint b check (c in (1, 2)) not valid',
      ['adds the constraint a reads and writes'],
    ],
    [
      'alter table a add constraint b foreign key (c) references d (id)',
      ['adds the constraint a reads and writes grows', 'refers to d writes'],
    ],
    ['alter table a validate constraint b', ['checks the rows a nothing']],
    [
      'alter table a add column b uuid default gen_random_uuid()',
      ['adds the column a reads and writes grows'],
    ],
    ['alter table a set (fillfactor = 70)', ['sets the storage a nothing']],
    ['create unique index b on a (c)', ['builds the index a writes grows']],
    ['lock table a in share row exclusive mode', ['locks a writes']],
    ['vacuum full a', ['runs undefined nothing']],
  ])('knows what %s does', (statement, expected) => {
    const shown = effectsOf(statement).map(({ kind, table, blocks, grows }) => {
      const hasRows = /rows$/.test(kind);
      return `${kind} ${table} ${blocks}${grows && !hasRows ? ' grows' : ''}`;
    });
    expect(shown).toEqual(expected);
  });
});
