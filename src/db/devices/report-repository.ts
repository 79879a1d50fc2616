import type { Knex } from 'knex';
import { runPrepared } from '../connection/prepared-statements.js';

/** A longer report is read alone and in pieces: decoding the hex digits of 8 MB blocks for 50 ms. */
const LARGE_REPORT = 64 * 1024;
const PIECE = 512 * 1024;
/** Bytes of the reports in one batch; in memory they need ten times as much. */
const MAX_BYTES = 2 * 1024 * 1024;

export interface StoredReport {
  id: number;
  device_id: number;
  uuid: string;
  request_type: string;
  /** Null where nothing reads the parameters. */
  payload: Buffer | null;
  /** Null if longer than LARGE_REPORT: see readReportBytes. */
  result: Buffer | null;
  /** Beyond MAX_BYTES of those before it: not read. */
  is_left: boolean;
}

const READ = `
select id, device_id, uuid, request_type, is_left,
  case when request_type = any(?::text[]) and not is_left
    then coalesce(payload, command_payload(payload_sha256)) end as payload,
  case when octet_length(result) <= ${LARGE_REPORT} and not is_left then result end as result
from (
  select *, octet_length(result) <= ${LARGE_REPORT} and ${MAX_BYTES} <
      sum(octet_length(result)) filter (where octet_length(result) <= ${LARGE_REPORT})
      over (order by id) as is_left
  from commands
  where id = any(?::bigint[]) and needs_handling and result is not null
) stored`;

/**
 * Stored reports that wait for their handlers; those handled before are left out. `withPayload` has the
 * request types whose parameters are needed.
 */
export function readReports(
  knex: Knex,
  ids: readonly number[],
  withPayload: readonly string[],
): Promise<StoredReport[]> {
  return runPrepared<StoredReport>(knex, { text: READ, bindings: [[...withPayload], [...ids]] });
}

/** The bytes of a stored report that waits for its handler; undefined if it was handled before. */
export async function readReportBytes(knex: Knex, id: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  for (let from = 1; ; from += PIECE) {
    const row: { piece: Buffer } | undefined = await knex('commands')
      .where({ id, needs_handling: true })
      .first(knex.raw('substring(result from ? for ?) as piece', [from, PIECE]));
    if (row === undefined) return undefined;
    pieces.push(row.piece);
    if (row.piece.length < PIECE) return Buffer.concat(pieces);
  }
}

/** A claimed report's device, as it was before. */
export interface ClaimedReport {
  id: number;
  device_id: number;
  /** The user that reports, if not the device itself. */
  device_user_id: number | null;
  enrollment_state: string | null;
  is_supervised: boolean | null;
  unmet_minimum_os_version: string | null;
  serial_number: string | null;
  is_user_enrollment: boolean;
}

function claimSql(whenLocked: string): string {
  return `
select c.id, c.device_id, c.device_user_id, d.enrollment_state, d.is_supervised,
  d.unmet_minimum_os_version, d.serial_number, d.enrollment_id is not null as is_user_enrollment,
  set_config('synchronous_commit', 'off', true), set_config('muster.cause', 'report', true)
from devices d join commands c on c.device_id = d.id
where c.id = any(?::bigint[]) and c.needs_handling
for no key update of d ${whenLocked}
for update of c ${whenLocked}`;
}

const CLAIM = claimSql('');
const CLAIM_UNLOCKED = claimSql('skip locked');

/**
 * Claims reports for this transaction, without those handled before. Locks each device first and then
 * its command, in the order of the admin API. Unless it waits for locks, it leaves out what another
 * transaction has locked: several would wait for one, and others for them. The commit does not wait for
 * the disk: if it is lost, the stored reports are handled again.
 */
export function claimReports(
  trx: Knex.Transaction,
  ids: readonly number[],
  { waits }: { waits: boolean },
): Promise<ClaimedReport[]> {
  const text = waits ? CLAIM : CLAIM_UNLOCKED;
  return runPrepared<ClaimedReport>(trx, { text, bindings: [[...ids]] });
}

// The answers to the daily inventory would be most of the database, and their facts are already
// stored in the inventory.
const MARK = `
update commands set needs_handling = false, reason = null,
  result = case when scheduled_sha256 is null or ?::boolean then result end
where id = any(?::bigint[])`;

/** Marks claimed reports as handled. Those of scheduled commands lose their bytes unless these are kept. */
export async function markHandled(
  trx: Knex.Transaction,
  ids: readonly number[],
  { keepsResults }: { keepsResults: boolean },
): Promise<void> {
  await runPrepared(trx, { text: MARK, bindings: [keepsResults, [...ids]] });
}

/** Which items of an acknowledged command the device did not carry out. */
export interface CommandRefusal {
  id: number;
  reason: string;
  /** Apple's errors, each with the name of its item as `Item`. */
  error_chain: Record<string, unknown>[];
}

const STORE_REFUSALS = `
update commands c set reason = r.reason, error_chain = r.error_chain
from jsonb_to_recordset(?::jsonb) as r (id bigint, reason text, error_chain jsonb)
where c.id = r.id`;

/** Stores them after `markHandled`, which clears the reason. Without any no statement runs. */
export async function storeRefusals(
  trx: Knex.Transaction,
  refusals: readonly CommandRefusal[],
): Promise<void> {
  if (refusals.length === 0) return;
  await runPrepared(trx, { text: STORE_REFUSALS, bindings: [JSON.stringify(refusals)] });
}

/** Those of the reports that were not handled meanwhile. */
export async function stillUnhandled(knex: Knex, ids: readonly number[]): Promise<Set<number>> {
  const found: number[] = await knex('commands')
    .whereRaw('id = any(?)', [[...ids]])
    .where({ needs_handling: true })
    .pluck('id');
  return new Set(found);
}

/** Stored reports that were not handled, as after a crash; oldest first, without `except`. */
export async function unhandledReports(
  knex: Knex,
  page: { limit: number; after: number; except: readonly number[] },
): Promise<{ id: number; deviceId: number }[]> {
  return knex('commands')
    .where({ needs_handling: true })
    .where('id', '>', page.after)
    .whereRaw('id <> all(?)', [[...page.except]])
    .orderBy('id')
    .limit(page.limit)
    .select('id', { deviceId: 'device_id' });
}
