import pg from 'pg';
import { connectDatabase } from '../../../src/db/connection/database.js';
import { databaseClockCheck } from '../../../src/doctor/checks/clock.js';
import {
  bloatCheck,
  databaseCheck,
  databaseSettingsCheck,
} from '../../../src/doctor/checks/database.js';
import { masterKeyCheck } from '../../../src/doctor/checks/master-key.js';
import { schemaCheck } from '../../../src/doctor/checks/schema.js';
import { MASTER_KEY, startApp, type TestApp } from '../../helpers/app.js';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../helpers/database.js';
import { brief, examine } from '../doctor-helpers.js';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const at = (time: string) => ({ now: () => new Date(time) });

describe('the doctor of the database', () => {
  it('shows version, round trip and size', async () => {
    const [finding] = await examine({ checks: [databaseCheck], db: test.db });
    expect(finding?.code).toBe('database');
    expect(finding?.what).toMatch(
      /^PostgreSQL \d+\.\d+ answers in \d+\.\d ms and holds \d+ MiB\.$/,
    );
  });

  it('reports a version that is no longer corrected', async () => {
    const late = { checks: [databaseCheck], db: test.db, options: at('2035-01-01T00:00:00Z') };
    expect(brief(await examine(late))).toEqual(['warning database_version_old']);
  });

  it('reports settings that lose data until they are changed', async () => {
    const checks = [databaseSettingsCheck];
    // The server of the tests runs without fsync and full_page_writes, and synchronous_commit is off.
    const before = brief(await examine({ checks, db: test.db }));
    expect(before).toEqual([
      'error database_fsync_off',
      'error database_full_page_writes_off',
      'warning database_synchronous_commit_off',
    ]);
    const { rows } = await test.db.knex.raw('select current_database() as name');
    await test.db.knex.raw(`alter database ${rows[0].name} set synchronous_commit = on`);
    const again = connectDatabase({ connectionString: test.connectionString, poolSize: 2 });
    expect(brief(await examine({ checks, db: again }))).toEqual(before.slice(0, 2));
    await again.close();
  });

  it('reports a slow compression of the log until it is changed', async () => {
    const { rows } = await test.db.knex.raw('select current_database() as name');
    const codesWith = async (method: string) => {
      await test.db.knex.raw(`alter database ${rows[0].name} set wal_compression = ${method}`);
      const db = connectDatabase({ connectionString: test.connectionString, poolSize: 2 });
      const found = await examine({ checks: [databaseSettingsCheck], db }).finally(() =>
        db.close(),
      );
      return found.map(({ code }) => code);
    };
    expect(await codesWith('pglz')).toContain('database_wal_compression_slow');
    expect(await codesWith('off')).not.toContain('database_wal_compression_slow');
  });

  it('reports that there are fewer connections than the processes open', async () => {
    const env = { WORKERS: '64', DATABASE_URL: 'postgresql://localhost/muster' };
    const found = await examine({ checks: [databaseSettingsCheck], db: test.db, env });
    const finding = found.find(({ code }) => code === 'database_connections_few');
    expect(finding?.what).toBe(
      'PostgreSQL allows 197 connections; this server may open 590 with WORKERS=64.',
    );
  });

  it('reports dead rows until the table is vacuumed', async () => {
    const { knex } = test.db;
    await knex.raw('alter table tags set (autovacuum_enabled = false)');
    await knex.raw("insert into tags (name) select 'T' || n from generate_series(1, 30000) n");
    await knex.raw('delete from tags where id > 10000');
    await knex.raw('select pg_stat_force_next_flush()');
    const checks = [bloatCheck];
    const bloated = async () => (await examine({ checks, db: test.db })).map(({ what }) => what);
    // Statistics of a backend appear a moment after its transaction.
    let found = await bloated();
    for (let tries = 0; tries < 50 && !found[0]?.startsWith('The table'); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      found = await bloated();
    }
    expect(found).toEqual([
      'The table tags has 20000 dead rows beside 10000 live ones; it was never vacuumed.',
    ]);
    await knex.raw('vacuum tags');
    expect(brief(await examine({ checks, db: test.db }))).toEqual(['ok database_bloat']);
  });

  it('reports a transaction that has been open for hours until it ends', async () => {
    const client = new pg.Client({
      connectionString: test.connectionString,
      application_name: 'report',
    });
    await client.connect();
    await client.query('begin');
    const { rows } = await client.query('select pg_backend_pid() as pid, 1 from tags limit 1');
    const { listOldTransactions } = await import('../../../src/db/doctor/database-facts.js');
    const found = await listOldTransactions(test.db, 0);
    expect(found).toContainEqual(
      expect.objectContaining({
        pid: rows[0].pid,
        application: 'report',
        state: 'idle in transaction',
      }),
    );
    await client.query('rollback');
    const after = await listOldTransactions(test.db, 0);
    expect(after.filter(({ application }) => application === 'report')).toEqual([]);
    await client.end();
  });

  it('compares its clock with the one here', async () => {
    const ahead = (ms: number) => ({
      checks: [databaseClockCheck],
      db: test.db,
      options: { now: () => new Date(Date.now() + ms) },
    });
    expect(brief(await examine(ahead(0)))).toEqual(['ok clock_database']);
    expect(brief(await examine(ahead(20_000)))).toEqual(['warning clock_differs_from_database']);
    const [late] = await examine(ahead(3_600_000));
    expect([late?.severity, late?.what]).toEqual([
      'error',
      'The clock of the database is 3600 s behind this one.',
    ]);
  });
});

describe('the doctor of the schema', () => {
  it('says that an empty database was never used, and reads no table of it', async () => {
    const empty = await createEmptyDatabase();
    const checks = [schemaCheck, masterKeyCheck];
    expect(brief(await examine({ checks, db: empty.db }))).toEqual(['error schema_missing']);
    await empty.drop();
  });

  it('reports migrations that are pending, and those of a newer version', async () => {
    const { knex } = test.db;
    const last = await knex('knex_migrations').orderBy('id', 'desc').first('id', 'name');
    const name = `${last.name}`;
    const renamed = (to: string) =>
      knex('knex_migrations').where({ id: last.id }).update({ name: to });
    await knex('knex_migrations').where({ id: last.id }).delete();
    const [older] = await examine({ checks: [schemaCheck], db: test.db });
    expect(older).toMatchObject({
      code: 'schema_older',
      what: `The migration ${name} is pending.`,
    });
    await knex('knex_migrations').insert(last).onConflict().ignore();
    await knex('knex_migrations').insert({ id: last.id, name, batch: 1 }).onConflict('id').merge();
    await renamed('29991231000000_future.js');
    expect(brief(await examine({ checks: [schemaCheck], db: test.db }))).toEqual([
      'error schema_newer',
    ]);
    await renamed(name);
    expect(brief(await examine({ checks: [schemaCheck], db: test.db }))).toEqual(['ok schema']);
  });
});

describe('the doctor of the master key', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ isSweeping: false });
  });
  afterAll(() => app.stop());

  it.each([
    ['that opens the secrets', MASTER_KEY, ['ok master_key']],
    ['of another database', Buffer.alloc(32, 9), ['error master_key_mismatch']],
  ])('checks a key %s', async (_what, key, expected) => {
    const env = { MASTER_KEY: key.toString('base64') };
    expect(brief(await examine({ checks: [masterKeyCheck], db: app.db, env }))).toEqual(expected);
  });

  it('reports a missing master key and does not create one', async () => {
    expect(brief(await examine({ checks: [masterKeyCheck], db: app.db }))).toEqual([
      'error master_key_missing',
    ]);
  });
});
