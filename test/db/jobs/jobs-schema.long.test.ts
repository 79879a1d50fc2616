import pg from 'pg';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { migrateJobs } from '../../../src/db/jobs/jobs-schema.js';
import { migrate, rollback } from '../../../src/db/schema/migrate.js';
import { createLogger } from '../../../src/logger.js';
import { createEmptyDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';

const logger = createLogger('silent');

let test: TestDatabase;
let db: Database;

beforeEach(async () => {
  test = await createEmptyDatabase();
  db = test.db;
});
afterEach(() => test.drop());

async function schemas(): Promise<string[]> {
  return await db.knex
    .from('pg_namespace')
    .whereRaw("nspname !~ '^pg_|^information_schema$'")
    .orderBy('nspname')
    .pluck<string[]>('nspname');
}

async function queueMigrations(): Promise<string[]> {
  const { rows } = await db.knex.raw('select id, ts from graphile_worker.migrations order by id');
  return rows.map((row: { id: number; ts: Date }) => `${row.id} ${row.ts.toISOString()}`);
}

async function revision(): Promise<string> {
  const { rows } = await db.knex.raw("select obj_description('jobs'::regclass) as revision");
  return rows[0].revision;
}

describe('the schema of the job queue', () => {
  it('is created and dropped with ours', async () => {
    await migrate(db, { logger });
    expect(await schemas()).toEqual(['graphile_worker', 'public']);
    expect(await db.knex('jobs')).toEqual([]);
    await rollback(db, { logger, all: true });
    expect(await schemas()).toEqual(['public']);
  });

  it('is not changed when it is up to date', async () => {
    await migrate(db, { logger });
    const before = await db.knex.raw("select xmin, oid from pg_class where relname = 'jobs'");
    const again = capturingLogger();
    await migrate(db, { logger: again.logger });
    const after = await db.knex.raw("select xmin, oid from pg_class where relname = 'jobs'");
    expect(after.rows).toEqual(before.rows);
    expect(again.lines).toEqual([]);
  });

  it('is migrated despite the view of another version', async () => {
    await migrate(db, { logger });
    const [current, once] = [await revision(), await queueMigrations()];
    await db.knex.raw(
      "drop view jobs; create view jobs as select * from graphile_worker.jobs; comment on view jobs is 'older'",
    );
    await migrate(db, { logger });
    expect(await revision()).toBe(current);
    expect(await db.knex('jobs').select('task', 'status', 'worker')).toEqual([]);
    expect(await queueMigrations()).toEqual(once);
  });

  it('is completed by the next start when a start was killed before it made the view', async () => {
    await migrate(db, { logger });
    const current = await revision();
    await db.knex.raw('drop view jobs');
    await migrate(db, { logger });
    expect(await revision()).toBe(current);
  });

  it('names the missing privilege when the database user may not create it', async () => {
    const name = `limited_${process.pid}`;
    await db.knex.raw(
      `create role ${name} login password 'x'; grant all on schema public to ${name}`,
    );
    const url = new URL(test.connectionString);
    Object.assign(url, { username: name, password: 'x' });
    const limited = connectDatabase({ connectionString: url.href });
    try {
      await expect(migrateJobs(limited, logger)).rejects.toMatchObject({
        code: 'unavailable',
        status: 503,
        message:
          'The database user may not create the schema graphile_worker of the job queue; ' +
          'run GRANT CREATE ON DATABASE … TO …',
      });
    } finally {
      await limited.close();
      await db.knex.raw(`drop owned by ${name}; drop role ${name}`);
    }
  });
});

describe('the view of the jobs', () => {
  it('shows the status of each', async () => {
    await migrate(db, { logger });
    const client = new pg.Client({ connectionString: test.connectionString });
    await client.connect();
    await client.query(`
      select graphile_worker.add_job('a', max_attempts => 2) from generate_series(1, 6);
      update graphile_worker._private_jobs set run_at = now() + interval '1 hour' where id in (2, 4);
      update graphile_worker._private_jobs set attempts = 1 where id in (3, 4);
      update graphile_worker._private_jobs set attempts = 2 where id in (5, 6);
      update graphile_worker._private_jobs set locked_at = now(), locked_by = 'w' where id = 6`);
    await client.end();
    const rows = await db.knex('jobs').orderBy('id').select('id', 'status', 'worker');
    expect(rows).toEqual([
      { id: 1, status: 'waiting', worker: null },
      { id: 2, status: 'scheduled', worker: null },
      { id: 3, status: 'retrying', worker: null },
      { id: 4, status: 'retrying', worker: null },
      { id: 5, status: 'dead', worker: null },
      { id: 6, status: 'running', worker: 'w' },
    ]);
  });
});
