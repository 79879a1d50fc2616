import { createHash } from 'node:crypto';
import { Logger as LibraryLogger, runMigrations } from 'graphile-worker';
import { version } from 'graphile-worker/package.json';
import type { Knex } from 'knex';
import { AppError } from '../../errors.js';
import { createWarner, type Logger } from '../../logger.js';
import type { Database } from '../connection/database.js';

/** The schema of the job queue library's tables. */
export const JOBS_SCHEMA = 'graphile_worker';

/** The jobs without their payloads. A CTE, since row locks are impossible across the outer join. */
const VIEW = `
create view jobs as
with job as (select * from ${JOBS_SCHEMA}.jobs)
select
  id,
  task_identifier as task,
  case
    when locked_at is not null then 'running'
    when attempts >= max_attempts then 'dead'
    when attempts > 0 then 'retrying'
    when run_at > now() then 'scheduled'
    else 'waiting'
  end as status,
  priority::integer as priority,
  run_at,
  attempts::integer as attempts,
  max_attempts::integer as max_attempts,
  last_error,
  created_at,
  key,
  locked_at,
  locked_by as worker
from job`;

/** Identifies the library's version and the view; stored as the comment of the view. */
const REVISION = `graphile-worker ${version}, ${createHash('sha256').update(VIEW).digest('hex')}`;

/**
 * Migrates the queue's schema and the view `jobs`; the caller holds a lock against other processes.
 * AppError 503 when the database user may not create a schema.
 */
export async function migrateJobs(db: Database, logger: Logger): Promise<void> {
  if ((await recordedRevision(db.knex)) === REVISION) return;
  // The library could not alter tables that a view depends on.
  await db.knex.raw('drop view if exists jobs');
  await runMigrations({
    pgPool: db.background,
    schema: JOBS_SCHEMA,
    logger: createJobQueueLogger(logger),
  }).catch((error: unknown) => {
    throw explainPrivilege(error);
  });
  await db.knex.transaction(async (trx) => {
    await trx.raw(VIEW);
    await trx.raw(`comment on view jobs is '${REVISION}'`);
  });
  logger.info({ version }, 'job queue migrated');
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Removes the queue with all its jobs. */
export async function dropJobs(db: Database): Promise<void> {
  await db.knex.transaction(async (trx) => {
    await trx.raw('drop view if exists jobs');
    await trx.raw(`drop schema if exists ${JOBS_SCHEMA} cascade`);
  });
}

/**
 * Forwards the queue library's log, without its metadata, which holds payloads. The results of jobs are
 * logged by `run-task`. While `isQuiet`, its messages are wrong and logged at the level debug.
 */
export function createJobQueueLogger(logger: Logger, isQuiet = () => false): LibraryLogger {
  // In an outage the library repeats a message at each of its attempts.
  const warn = createWarner(logger);
  return new LibraryLogger(() => (level, message, meta) => {
    if (meta?.success === true || meta?.failure === true) return;
    // Logged as warnings: the library recovers from these errors.
    const isGrave = level === 'error' || level === 'warning';
    if (isGrave && !isQuiet()) warn({ detail: message }, 'job queue', message);
    else logger.debug({ detail: message }, 'job queue');
  });
}

async function recordedRevision(knex: Knex): Promise<string | null> {
  const text = "select obj_description(to_regclass('jobs'), 'pg_class') as revision";
  const { rows } = await knex.raw<{ rows: { revision: string | null }[] }>(text);
  return rows[0]?.revision ?? null;
}

function explainPrivilege(error: unknown): unknown {
  if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) return error;
  const message =
    `The database user may not create the schema ${JOBS_SCHEMA} of the job queue; ` +
    'run GRANT CREATE ON DATABASE … TO …';
  return new AppError('unavailable', 503, message, { cause: error });
}
