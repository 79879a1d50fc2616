import type pg from 'pg';
import { JOBS_SCHEMA } from '../jobs/jobs-schema.js';

/** Work that a restored server must not do: it was done already, or decided otherwise, since then. */
export interface DangerousWork {
  /** Request types of commands. */
  requestTypes: readonly string[];
  disownTask: string;
  activationLockTask: string;
}

export interface StoppedWork {
  commands: number;
  batches: number;
  jobs: number;
}

/** A device that has such a command already answers it; its answer is stored with the command. */
const CANCEL_COMMANDS = `
update commands set status = 'Cancelled', ended_at = now(), reason = 'restored'
where is_pending and request_type = any($1)`;

const DELETE_SLICES = `
delete from command_batch_slices s using command_batches b
where b.id = s.command_batch_id and b.state = 'expanding' and b.request_type = any($1)`;

const CANCEL_BATCHES = `
update command_batches set state = 'cancelled'
where state = 'expanding' and request_type = any($1)`;

const DELETE_JOBS = `
delete from ${JOBS_SCHEMA}._private_jobs j using ${JOBS_SCHEMA}._private_tasks t
where t.id = j.task_id and t.identifier = any($1)`;

/** Apple may have received what was sent, so its outcome is unknown. */
const FORGET_DISOWN = `
update dep_devices set disown_result = case disown_result when 'sent' then 'no_answer' end,
  last_error = 'disown: cancelled when the server was restored from a backup', last_error_at = now()
where disown_result in ('requested', 'sent')`;

const FORGET_LOCK = `
update dep_devices set activation_lock_result = null,
  last_error = 'activation lock: cancelled when the server was restored from a backup',
  last_error_at = now()
where activation_lock_result = 'requested'`;

/** Who was signed in then may not be allowed to any more, and a link is meant to be used once. */
const END_SIGN_INS: [table: string, text: string][] = [
  ['sessions', 'delete from sessions'],
  ['sign_in_links', 'delete from sign_in_links where used_at is null'],
];

/** Signs everybody out; API tokens stay. A backup of an older Muster has no such tables: its `tables` says so. */
export async function endSignIns(
  client: pg.ClientBase,
  tables: readonly { name: string }[] = END_SIGN_INS.map(([name]) => ({ name })),
): Promise<void> {
  for (const [table, text] of END_SIGN_INS) {
    if (tables.some(({ name }) => name === table)) await client.query(text);
  }
}

/** Stops it in the transaction of the restore, with triggers, which count and mark what has changed. */
export async function stopDangerousWork(
  client: pg.ClientBase,
  { requestTypes, disownTask, activationLockTask }: DangerousWork,
): Promise<StoppedWork> {
  const change = async (text: string, values?: unknown[]) =>
    (await client.query(text, values)).rowCount ?? 0;
  const types = [[...requestTypes]];
  await change(DELETE_SLICES, types);
  const batches = await change(CANCEL_BATCHES, types);
  const commands = await change(CANCEL_COMMANDS, types);
  const jobs = await change(DELETE_JOBS, [[disownTask, activationLockTask]]);
  await change(FORGET_DISOWN);
  await change(FORGET_LOCK);
  return { commands, batches, jobs };
}
