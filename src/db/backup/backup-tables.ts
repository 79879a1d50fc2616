import { IS_SUPERSEDED } from '../jobs/job-repository.js';
import { JOBS_SCHEMA } from '../jobs/jobs-schema.js';

/**
 * Tables that a backup leaves out: the records of migrations, the processes of the
 * source, and its backups, whose files are elsewhere.
 */
export const LEFT_OUT: readonly string[] = [
  'knex_migrations',
  'knex_migrations_lock',
  'server_processes',
  'backups',
];

/**
 * The jobs in a backup, independent of the library's own tables. They are text, since the
 * types of the library's columns may change.
 */
export const JOBS = {
  name: 'jobs',
  rowFormat: 'text' as const,
  columns: [
    ...['id', 'task', 'payload', 'priority', 'run_at', 'attempts', 'max_attempts', 'last_error'],
    ...['created_at', 'updated_at', 'key', 'revision', 'flags'],
  ],
};

/**
 * The jobs that run after a restore. A job that was running is treated as if its process had died: the
 * attempt counts.
 */
export const SELECT_JOBS = `
select j.id, t.identifier as task, j.payload, j.priority, j.run_at, j.attempts, j.max_attempts,
  case when j.locked_at is not null and j.attempts >= j.max_attempts and j.last_error is null
    then 'The process that ran the last attempt ended in the middle of it' else j.last_error end
    as last_error,
  j.created_at, j.updated_at, j.key, j.revision, j.flags
from ${JOBS_SCHEMA}._private_jobs j join ${JOBS_SCHEMA}._private_tasks t on t.id = j.task_id
where not ${IS_SUPERSEDED}
order by j.id`;

/** Settings with which the same rows are always the same text, whatever the server's are. */
export const TEXT_SETTINGS = {
  client_encoding: "'UTF8'",
  timezone: "'UTC'",
  datestyle: "'ISO, MDY'",
  intervalstyle: "'postgres'",
  extra_float_digits: '1',
  bytea_output: "'hex'",
  xmloption: "'content'",
} as const;

/** Both take as long as the data is large. */
export const NO_LIMITS = {
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
} as const;

export function setLocal(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `set local ${name} = ${value};`)
    .join('\n');
}

/** A name as SQL writes it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
