import type { Knex } from 'knex';

/** Above every command that admins queue. */
export const FIRST_PRIORITY = 1_000_000;

/**
 * Below every command that admins queue: sent only when no other command is left for the device, not
 * even one that it answered NotNow.
 */
export const LAST_PRIORITY = -1_000_000;

export interface NewCommand {
  uuid: string;
  device_id: number;
  /** Null or absent: addressed to the device itself. */
  device_user_id?: number | null;
  request_type: string;
  payload: Buffer;
  is_forced?: boolean | undefined;
  priority?: number | undefined;
  ttl?: number | undefined;
  after?: Date | null | undefined;
  expires_at?: Date | null | undefined;
}

/** A row of `commands`; only these columns are read by name. */
export type CommandRow = Record<string, unknown> & {
  id: number;
  uuid: string;
  device_id: number;
  device_user_id: number | null;
  request_type: string;
  status: string;
  sent_at: Date | null;
  after: Date | null;
  expires_at: Date | null;
  payload: Buffer;
};

export async function insertCommand(trx: Knex.Transaction, command: NewCommand): Promise<number> {
  const [row] = await trx('commands').insert(command).returning('id');
  return row.id;
}

/** Inserts in the order given, in one statement. Returns the ids in that order. */
export async function insertCommands(
  trx: Knex.Transaction,
  commands: NewCommand[],
): Promise<number[]> {
  if (commands.length === 0) return [];
  const rows: { id: number }[] = await trx('commands').insert(commands).returning('id');
  return rows.map(({ id }) => id);
}

/** The row, locked against a device that fetches it at this moment. */
export async function lockCommand(
  trx: Knex.Transaction,
  id: number,
): Promise<CommandRow | undefined> {
  return trx<CommandRow>('commands').where({ id }).forUpdate().first();
}

/** Changes all of them in one statement; the caller has locked them. */
export async function updateCommands(
  trx: Knex.Transaction,
  ids: number[],
  changes: Record<string, unknown>,
): Promise<void> {
  if (ids.length === 0) return;
  await trx('commands').whereIn('id', ids).update(changes);
}

/** Deletes a command that was never sent, with the secret that it would have set. */
export async function deleteCommand(trx: Knex.Transaction, id: number): Promise<void> {
  await trx('device_secrets').where({ command_id: id }).delete();
  await trx('commands').where({ id }).delete();
}

export async function lockCommands(trx: Knex.Transaction, ids: number[]): Promise<CommandRow[]> {
  return trx<CommandRow>('commands').whereIn('id', ids).orderBy('id').forUpdate();
}

export interface StoredReport {
  id: number;
  uuid: string;
  device_id: number;
  request_type: string;
  payload: Buffer;
  /** Null if longer than LARGE_REPORT: see readReportBytes. */
  result: Buffer | null;
  enrollment_state: string | null;
  is_supervised: boolean | null;
  unmet_minimum_os_version: string | null;
  serial_number: string | null;
  is_user_enrollment: boolean;
}

/** A longer report is read in pieces: decoding the hex digits of 8 MB blocks for 50 ms. */
const LARGE_REPORT = 64 * 1024;
const PIECE = 512 * 1024;

const CLAIM_REPORT = `
select c.id, c.uuid, c.device_id, c.request_type, c.payload,
  case when octet_length(c.result) <= ${LARGE_REPORT} then c.result end as result,
  d.enrollment_state, d.is_supervised,
  d.unmet_minimum_os_version, d.serial_number, d.enrollment_id is not null as is_user_enrollment,
  set_config('synchronous_commit', 'off', true)
from devices d join commands c on c.device_id = d.id
where c.id = ? and c.needs_handling and c.result is not null
for no key update of d
for update of c`;

/**
 * Claims the report for this transaction; undefined if it was handled before. Locks the device first
 * and then its command, in the order of the admin API. The commit does not wait for the disk: if it is
 * lost, the stored report is handled again.
 */
export async function claimReport(
  trx: Knex.Transaction,
  id: number,
): Promise<StoredReport | undefined> {
  const { rows } = await trx.raw<{ rows: StoredReport[] }>(CLAIM_REPORT, [id]);
  return rows[0];
}

/** The bytes of a stored report that waits for its handler; undefined if it was handled before. */
export async function readReportBytes(
  knex: Knex,
  id: number,
): Promise<{ uuid: string; requestType: string; result: Buffer } | undefined> {
  const pieces: Buffer[] = [];
  for (let from = 1; ; from += PIECE) {
    const row: { uuid: string; request_type: string; piece: Buffer } | undefined = await knex(
      'commands',
    )
      .where({ id, needs_handling: true })
      .first(
        'uuid',
        'request_type',
        knex.raw('substring(result from ? for ?) as piece', [from, PIECE]),
      );
    if (row === undefined) return undefined;
    pieces.push(row.piece);
    if (row.piece.length < PIECE) {
      return { uuid: row.uuid, requestType: row.request_type, result: Buffer.concat(pieces) };
    }
  }
}

/** Stored reports that were not handled, as after a crash; oldest first, without `except`. */
export async function unhandledReports(
  knex: Knex,
  { limit, except }: { limit: number; except: readonly number[] },
): Promise<{ id: number; deviceId: number }[]> {
  return knex('commands')
    .where({ needs_handling: true })
    .whereRaw('id <> all(?)', [[...except]])
    .orderBy('id')
    .limit(limit)
    .select('id', { deviceId: 'device_id' });
}

const EXPIRE = `
update commands set status = 'Expired', reason = 'not answered before expires_at'
where id in (
  select id from commands where is_pending and expires_at <= now()
  order by expires_at limit ? for update skip locked
)`;

/**
 * Expires at most `limit` overdue commands. Returns how many. A command that a report or an admin has
 * locked is left for the next run.
 */
export async function expireOverdue(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(EXPIRE, [limit]);
  return rowCount;
}
