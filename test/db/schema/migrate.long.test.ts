import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import {
  migrate,
  migrationStatus,
  requireSupportedVersion,
  rollback,
} from '../../../src/db/schema/migrate.js';
import {
  DirectoryMigrationSource,
  MIGRATIONS_DIRECTORY,
} from '../../../src/db/schema/migration-source.js';
import { createLogger } from '../../../src/logger.js';
import { killChildren, startTypeScript } from '../../helpers/child-process.js';
import { createEmptyDatabase, type TestDatabase } from '../../helpers/database.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';
import { directoryWith, migration } from './migration-directory.js';

const CHILD = join(__dirname, '..', '..', 'helpers', 'migrate-child.ts');
const OURS = new DirectoryMigrationSource(MIGRATIONS_DIRECTORY).names();
const logger = createLogger('silent');

let test: TestDatabase;
let db: Database;

beforeEach(async () => {
  test = await createEmptyDatabase();
  db = test.db;
});
afterEach(async () => {
  killChildren();
  await test.drop();
});
afterAll(removeTemporaryDirectories);

async function tables(): Promise<string[]> {
  const names = await db.knex
    .from('pg_tables')
    .where({ schemaname: 'public' })
    .orderBy('tablename')
    .pluck<string[]>('tablename');
  return names;
}

/** The first migration of the scratch directories. */
const FIRST = { '20990101000000_first.js': migration('create table a (n int)', 'drop table a') };

/** Builds an index on its table, which no transaction can. */
const INDEX = {
  '20990102000000_index.js': `exports.config = { transaction: false };
exports.up = (knex) => knex.raw('create index concurrently a_n on a (n)');
exports.down = (knex) => knex.raw('drop index concurrently a_n');\n`,
};

describe('migrations', () => {
  it('of the product go up, down to nothing, and up again', async () => {
    expect(await migrate(db, { logger })).toEqual(OURS);
    const once = await tables();
    expect(once).toContain('devices');
    expect(await rollback(db, { logger, all: true })).toEqual([...OURS].reverse());
    expect(await tables()).toEqual(['knex_migrations', 'knex_migrations_lock']);
    const functions = await db.knex.raw(
      [
        "select proname from pg_proc as p where pronamespace = 'public'::regnamespace",
        // An extension stays: another application may use it.
        "and not exists (select from pg_depend where objid = p.oid and deptype = 'e')",
      ].join(' '),
    );
    expect(functions.rows).toEqual([]);
    expect(await migrate(db, { logger })).toEqual(OURS);
    expect(await tables()).toEqual(once);
  });

  it('are not repeated', async () => {
    await migrate(db, { logger });
    expect(await migrate(db, { logger })).toEqual([]);
  });

  it('are named without the file extension, and other files are ignored', () => {
    const directory = directoryWith({
      '20990102000000_second.ts': '',
      '20990101000000_first.js': '',
      '20990101000000_first.js.map': '',
      '20990103000000_types.d.ts': '',
      'README.md': '',
    });
    expect(new DirectoryMigrationSource(directory).names()).toEqual([
      '20990101000000_first',
      '20990102000000_second',
    ]);
  });

  it('that fail leave nothing behind, nor do earlier ones of the same run', async () => {
    const directory = directoryWith({
      ...FIRST,
      '20990102000000_bad.js': migration('create table b (n int); select 1 / 0'),
    });
    await expect(migrate(db, { logger, directory })).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'the migration 20990102000000_bad failed: division by zero. What it did, and others in its transaction, is ' +
        'taken back. Remove the cause, then run `muster migrate` or start the server; `muster migrate --plan` says ' +
        'what it does.',
    });
    expect(await tables()).toEqual(['knex_migrations', 'knex_migrations_lock']);
    expect(await migrationStatus(db, directory)).toEqual({
      applied: [],
      pending: ['20990101000000_first', '20990102000000_bad'],
      unknown: [],
    });
  });

  it('newer than this Muster are refused, and nothing changes', async () => {
    await migrate(db, { logger, directory: directoryWith(FIRST) });
    const message =
      'The database is newer than this Muster: it has the migrations 20990101000000_first';
    await expect(migrate(db, { logger })).rejects.toMatchObject({ code: 'unavailable', message });
    expect(await tables()).toEqual(['a', 'knex_migrations', 'knex_migrations_lock']);
    expect((await migrationStatus(db)).unknown).toEqual(['20990101000000_first']);
  });

  it('may take longer than a statement of a request', async () => {
    const shown = "create table limits as select current_setting('statement_timeout') as statement";
    await migrate(db, {
      logger,
      directory: directoryWith({ '20990101000000_a.js': migration(shown) }),
    });
    expect(await db.knex('limits')).toEqual([{ statement: '0' }]);
  });

  it('log what an admin should know', async () => {
    const lines: unknown[] = [];
    const text = `exports.up = async (knex, report) => report({ tag: 7 }, 'tag renamed');
exports.down = async () => {};\n`;
    const directory = directoryWith({ '20990101000000_a.js': text });
    const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
    await migrate(db, { logger: createLogger('warn', destination), directory });
    expect(lines).toMatchObject([{ level: 40, tag: 7, msg: 'tag renamed' }]);
  });

  it('that run outside a transaction divide the others, and are reverted with them', async () => {
    const files = {
      ...FIRST,
      ...INDEX,
      '20990103000000_third.js': migration('create table c (n int)', 'drop table c'),
      '20990104000000_bad.js': migration('select 1 / 0'),
    };
    const broken = directoryWith(files);
    await expect(migrate(db, { logger, directory: broken })).rejects.toThrow('division by zero');
    const migrationTables = ['knex_migrations', 'knex_migrations_lock'];
    expect(await tables()).toEqual(['a', ...migrationTables]);
    const directory = directoryWith({ ...files, '20990104000000_bad.js': migration('select 1') });
    const rest = ['20990103000000_third', '20990104000000_bad'];
    expect(await migrate(db, { logger, directory })).toEqual(rest);
    await rollback(db, { logger, directory, all: true });
    expect(await tables()).toEqual(migrationTables);
    const names = Object.keys(files).map((name) => name.replace('.js', ''));
    expect(await migrate(db, { logger, directory })).toEqual(names);
    await expect(rollback(db, { logger, directory })).rejects.toThrow(
      'there is no former schema to go back to: taking them back would delete every row',
    );
    const [last = '', ...former] = names.reverse();
    await db.knex('knex_migrations').where({ name: last }).update({ batch: 2 });
    expect(await rollback(db, { logger, directory })).toEqual([last]);
    expect(await rollback(db, { logger, directory, all: true })).toEqual(former);
    expect(await tables()).toEqual(migrationTables);
  });

  it('are refused in a database whose encoding is not UTF8', async () => {
    const latin = await createEmptyDatabase("encoding 'LATIN1' locale_provider 'libc' locale 'C'");
    try {
      await expect(migrate(latin.db, { logger })).rejects.toThrow(
        'the encoding of the database is LATIN1, and must be UTF8: make another one, by ' +
          "create database muster encoding 'UTF8' template template0",
      );
    } finally {
      await latin.drop();
    }
  });

  it('are refused for a role that may not create tables, with what helps', async () => {
    const empty = await createEmptyDatabase();
    const role = `small_${process.pid}`;
    const small = new URL(empty.connectionString);
    await empty.db.knex.raw(`create role ${role} login password 'small'`);
    await empty.db.knex.raw('revoke create on schema public from public');
    [small.username, small.password] = [role, 'small'];
    const other = connectDatabase({ connectionString: small.href });
    try {
      const cure = new RegExp(
        `role ${role} may not create tables in schema public: make it the owner`,
      );
      await expect(migrate(other, { logger })).rejects.toThrow(cure);
    } finally {
      await other.close();
      await empty.db.knex.raw(`drop role ${role}`);
      await empty.drop();
    }
  });

  it('are refused by a server older than PostgreSQL 14', () => {
    expect(() => requireSupportedVersion(130_023)).toThrow(
      'PostgreSQL 14 or newer is needed, this is 13',
    );
    expect(() => requireSupportedVersion(140_000)).not.toThrow();
  });

  it('have a status before they ever ran, which changes nothing', async () => {
    expect(await migrationStatus(db)).toEqual({ applied: [], pending: OURS, unknown: [] });
    expect(await tables()).toEqual([]);
  });
});

/** Such a transaction would be waited for by `create index concurrently`, and would wait for it. */
async function triesLeftOpen(): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < 10; n += 1) {
    await sleep(90);
    const { rowCount } = await db.pool.query(
      `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
         and query like 'select pg_try_advisory%' and state_change < clock_timestamp() - interval '50 ms'`,
    );
    found.push(rowCount ?? 0);
  }
  return found;
}

describe('migrations of several processes', () => {
  it('build an index beside the writers of its table, while another process waits', async () => {
    await migrate(db, { logger, directory: directoryWith(FIRST) });
    const directory = directoryWith({ ...FIRST, ...INDEX });
    const writer = db.createClient();
    await writer.connect();
    await writer.query('begin');
    await writer.query('insert into a values (1)');
    const children = [1, 2].map(() => startTypeScript(CHILD, [test.connectionString, directory]));
    await Promise.all(children.map((child) => child.line('connected')));
    await waitForStatement('create index concurrently');
    expect(await triesLeftOpen()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    await db.knex('a').insert({ n: 2 });
    await writer.query('commit');
    await writer.end();
    expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0]);
    const applied = await Promise.all(children.map((child) => child.line('applied')));
    expect(applied.sort()).toEqual(['["20990102000000_index"]', '[]']);
  });

  it('that start at the same time are applied by one of them', async () => {
    const children = [1, 2].map(() => startTypeScript(CHILD, [test.connectionString]));
    expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0]);
    const applied = await Promise.all(children.map((child) => child.line('applied')));
    expect(applied.sort()).toEqual([JSON.stringify(OURS), '[]']);
  });

  it('wait for an index that the server still builds for a killed one', async () => {
    await db.knex.raw('create table big (n int)');
    const [writer, orphan] = [await db.pool.connect(), await db.pool.connect()];
    await writer.query('begin; insert into big values (1)');
    let isBuilt = false;
    const built = orphan.query('create index concurrently big_n on big (n)').then(() => {
      isBuilt = true;
    });
    await waitForStatement('concurrently big_n');
    const migrated = migrate(db, { logger, directory: directoryWith(FIRST) }).then(() => isBuilt);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(isBuilt).toBe(false);
    await writer.query('commit');
    await built;
    expect(await migrated).toBe(true);
    for (const client of [writer, orphan]) client.release();
  });

  it('continue after one was killed', async () => {
    const slow = migration('begin; create table b (n int); select pg_sleep(60); commit');
    // Outside a transaction of its own, so that the lock row of knex is committed before it.
    const text = `exports.config = { transaction: false };\n${slow}`;
    const first = directoryWith({ ...FIRST, '20990102000000_slow.js': text });
    const killed = startTypeScript(CHILD, [test.connectionString, first]);
    await killed.line('connected');
    await waitForStatement('pg_sleep');
    killed.process.kill('SIGKILL');
    expect(await killed.ended).toBe('SIGKILL');
    expect(await db.knex('knex_migrations_lock').pluck('is_locked')).toEqual([1]);

    const second = directoryWith({
      ...FIRST,
      '20990102000000_slow.js': migration('create table b (n int)'),
    });
    const applied = await migrate(db, { logger, directory: second });
    expect(applied).toEqual(['20990102000000_slow']);
    expect(await tables()).toEqual(['a', 'b', 'knex_migrations', 'knex_migrations_lock']);
  });
});

async function waitForStatement(part: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const found = await db.knex.raw(
      `select 1 from pg_stat_activity where query like ? and state = 'active'
       and datname = current_database() and pid <> pg_backend_pid()`,
      [`%${part}%`],
    );
    if (found.rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`no statement ${part}`);
}
