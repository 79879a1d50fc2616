import { join, sep } from 'node:path';
import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';
import type { Transaction } from '../connection/unit-of-work.js';

export type BackupSource = 'request' | 'schedule' | 'command';

export interface NewBackup {
  source: BackupSource;
  is_encrypted: boolean;
  created_by: string;
}

/** What a backup came to. */
export interface BackupSize {
  tables: number;
  rows: number;
  bytes: number;
}

/** How far a backup has come. */
export interface BackupSteps {
  tablesDone: number;
  tablesTotal: number;
  bytes: number;
}

/** One that was begun by `muster backup`. */
export interface CommandBackup extends Omit<NewBackup, 'source'> {
  file: string;
  startedAt: Date;
}

export interface FailedBackup extends CommandBackup {
  progress: BackupSteps;
  error: string;
}

const LOCK = 'lock table backups in share row exclusive mode';

// Two that begin in one second would have one name.
const INSERT = `
with moment as (
  select greatest(date_trunc('second', clock_timestamp()),
    (select date_trunc('second', max(created_at)) + interval '1 second' from backups)) as at
)
insert into backups (source, is_encrypted, created_by, created_at, file)
select :source, :is_encrypted, :created_by, at,
  :prefix || 'muster-' || to_char(at at time zone 'UTC', 'YYYYMMDD"T"HH24MISS"Z"') || '.backup'
from moment
where not exists (select from backups where state in ('waiting', 'running'))
returning id, file`;

/** Adds a backup whose file begins with `prefix`; undefined while another one is under way. */
export async function insertBackup(
  trx: Transaction,
  backup: NewBackup & { prefix: string },
): Promise<{ id: number; file: string } | undefined> {
  await trx.raw(LOCK);
  const { rows } = await trx.raw<{ rows: { id: number; file: string }[] }>(INSERT, { ...backup });
  return rows[0];
}

/** Adds one that was made by `muster backup`. Returns its id. */
export async function insertMadeBackup(
  trx: Transaction,
  backup: CommandBackup & BackupSize,
): Promise<number> {
  const { tables, rows, startedAt, ...values } = backup;
  const [row] = await trx('backups')
    .insert({
      ...values,
      source: 'command',
      state: 'finished',
      tables_done: tables,
      tables_total: tables,
      row_count: rows,
      created_at: startedAt,
      started_at: startedAt,
      finished_at: trx.fn.now(),
    })
    .returning<{ id: number }[]>('id');
  return row?.id ?? 0;
}

/** Adds one that `muster backup` could not make. */
export async function insertFailedBackup(
  { knex }: Pick<Database, 'knex'>,
  backup: FailedBackup,
): Promise<void> {
  const { startedAt, progress, ...values } = backup;
  const { tablesDone, tablesTotal, bytes } = progress;
  await knex('backups').insert({
    ...values,
    source: 'command',
    state: 'failed',
    tables_done: tablesDone,
    tables_total: tablesTotal === 0 ? null : tablesTotal,
    bytes,
    created_at: startedAt,
    started_at: startedAt,
    finished_at: knex.fn.now(),
  });
}

export interface StartedBackup {
  file: string;
  /** A process has begun it before, and ended. */
  isRepeated: boolean;
}

/** Makes it the backup that runs; undefined when it is over. */
export async function startBackup(
  { background }: Database,
  id: number,
): Promise<StartedBackup | undefined> {
  const { rows } = await background.query<{ file: string; former: string }>(
    `with former as (select id, state from backups where id = $1 for update)
     update backups b set state = 'running', started_at = now(), tables_done = 0, bytes = 0
     from former f where b.id = f.id and f.state in ('waiting', 'running')
     returning b.file, f.state as former`,
    [id],
  );
  const [row] = rows;
  return row && { file: row.file, isRepeated: row.former === 'running' };
}

export async function storeBackupProgress(
  { background }: Database,
  id: number,
  { tablesDone, tablesTotal, bytes }: BackupSteps,
): Promise<void> {
  await background.query(
    `update backups set tables_done = $2, tables_total = $3, bytes = $4
     where id = $1 and state = 'running'`,
    [id, tablesDone, tablesTotal, bytes],
  );
}

export async function finishBackup(
  { background }: Database,
  id: number,
  { tables, rows, bytes }: BackupSize,
): Promise<void> {
  await background.query(
    `update backups set state = 'finished', tables_done = $2, tables_total = $2, row_count = $3,
       bytes = $4, error = null, finished_at = now() where id = $1`,
    [id, tables, rows, bytes],
  );
}

export async function failBackup(
  { background }: Database,
  id: number,
  error: string,
): Promise<void> {
  await background.query(
    `update backups set state = 'failed', error = $2, finished_at = now()
     where id = $1 and state in ('waiting', 'running')`,
    [id, error],
  );
}

const ABANDONED = `
update backups b set state = 'failed', finished_at = now(),
  error = 'the processes that made it ended in the middle of it'
where state in ('waiting', 'running') and not exists (
  select from jobs j where j.key = ? || b.id and j.status <> 'dead')
returning id`;

/** Fails the waiting and running backups that have no job. `keyPrefix`: prefix of their jobs' keys. */
export async function failAbandoned(trx: Transaction, keyPrefix: string): Promise<number[]> {
  await trx.raw(LOCK);
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(ABANDONED, [keyPrefix]);
  return rows.map(({ id }) => id);
}

const IS_DUE = `
select not exists (
  select from backups where state in ('waiting', 'running')
    or (state = 'finished' and source <> 'command' and created_at > now() - :every::float8 * interval '1 ms')
    or (state = 'failed' and source <> 'command'
      and finished_at > now() - least(:every::float8, :retry::float8) * interval '1 ms')
) as is_due`;

/**
 * Whether the last good one that the server made itself was begun longer than `every` ago, and none failed within
 * `retry`; milliseconds. Those of `muster backup` are elsewhere, and may be gone.
 */
export async function isBackupDue(
  trx: Transaction,
  times: { every: number; retry: number },
): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { is_due: boolean }[] }>(IS_DUE, times);
  return rows[0]?.is_due === true;
}

/** Finished backups that the server made of itself in the directory, the newest first. */
export async function findFinishedBackups(
  { background }: Pick<Database, 'background'>,
  directory: string,
): Promise<{ id: number; file: string }[]> {
  const { rows } = await background.query<{ id: number; file: string }>(
    `select id, file from backups
     where state = 'finished' and source <> 'command' and starts_with(file, $1)
     order by id desc`,
    [join(directory, sep)],
  );
  return rows;
}

const GONE = 'its file is gone: somebody deleted or moved it, or another disk is mounted';

/** Marks finished backups as failed whose files are missing. */
export async function failMissingBackups(
  { background }: Pick<Database, 'background'>,
  ids: readonly number[],
): Promise<void> {
  await background.query(
    `update backups set state = 'failed', error = $2 where id = any($1) and state = 'finished'`,
    [ids, GONE],
  );
}

/** Records that the files of these names are deleted. */
export async function markBackupsDeleted(
  { background }: Database,
  files: readonly string[],
): Promise<void> {
  if (files.length === 0) return;
  await background.query(
    `update backups set state = 'deleted'
     where (state = 'finished' or error = $2) and file = any($1)`,
    [[...files], GONE],
  );
}

/** Removes records of those that failed or whose files were deleted, a year after. */
export async function removeOldBackups({ background }: Database): Promise<void> {
  await background.query(
    `delete from backups where state in ('failed', 'deleted') and finished_at < now() - interval '1 year'`,
  );
}

/** Seconds since the newest good backup was begun; undefined without one. */
export async function backupAge(knex: Knex): Promise<number | undefined> {
  const { rows } = await knex.raw<{ rows: { age: number | null }[] }>(
    `select extract(epoch from now() - max(started_at))::float8 as age
     from backups where state = 'finished'`,
  );
  return rows[0]?.age ?? undefined;
}

export interface BackupFacts {
  /** Seconds since the newest good one was begun; undefined without one. */
  age: number | undefined;
  /** Why the last one failed; undefined if it did not. */
  failure: string | undefined;
}

export async function backupFacts(knex: Knex): Promise<BackupFacts> {
  const last = await knex('backups')
    .whereIn('state', ['finished', 'failed', 'deleted'])
    .orderBy('finished_at', 'desc')
    .first<{ state: string; error: string | null } | undefined>('state', 'error');
  const failure = last?.state === 'failed' ? (last.error ?? 'no reason was kept') : undefined;
  return { age: await backupAge(knex), failure };
}
