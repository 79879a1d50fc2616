import { createHash } from 'node:crypto';
import { runMigrations } from 'graphile-worker';
import { version } from 'graphile-worker/package.json';
import type { Knex } from 'knex';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { Database } from '../connection/database.js';
import { createJobQueueLogger } from './job-queue-logger.js';

/** Where the queue library keeps its tables. */
export const JOBS_SCHEMA = 'graphile_worker';

/** The jobs without their payloads. In a CTE, since row locks can't reach through the outer join. */
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

/** Changes with the library and with the view, and stands at the view as its comment. */
const REVISION = `graphile-worker ${version}, ${createHash('sha256').update(VIEW).digest('hex')}`;

/**
 * Brings the queue's schema and the view `jobs` up to date; the caller keeps others from doing the
 * same. AppError 503 when the database user may not create a schema.
 */
export async function migrateJobs(db: Database, logger: Logger): Promise<void> {
  if ((await recordedRevision(db.knex)) === REVISION) return;
  // A view on what the library alters would stand in its way.
  await db.knex.raw('drop view if exists jobs');
  await runMigrations({
    pgPool: db.background,
    schema: JOBS_SCHEMA,
    logger: createJobQueueLogger(logger),
  }).catch((error: unknown) => {
    throw explained(error);
  });
  await db.knex.transaction(async (trx) => {
    await trx.raw(VIEW);
    await trx.raw(`comment on view jobs is '${REVISION}'`);
  });
  logger.info({ version }, 'job queue migrated');
}

async function recordedRevision(knex: Knex): Promise<string | null> {
  const text = "select obj_description(to_regclass('jobs'), 'pg_class') as revision";
  const { rows } = await knex.raw<{ rows: { revision: string | null }[] }>(text);
  return rows[0]?.revision ?? null;
}

const INSUFFICIENT_PRIVILEGE = '42501';

function explained(error: unknown): unknown {
  if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) return error;
  const message =
    `The database user may not create the schema ${JOBS_SCHEMA} of the job queue; ` +
    'GRANT CREATE ON DATABASE … TO … lets it';
  return new AppError('unavailable', 503, message, { cause: error });
}

/** Removes the queue with all its jobs. */
export async function dropJobs(db: Database): Promise<void> {
  await db.knex.transaction(async (trx) => {
    await trx.raw('drop view if exists jobs');
    await trx.raw(`drop schema if exists ${JOBS_SCHEMA} cascade`);
  });
}
