import type { Knex } from 'knex';

/** A renewal, with the facts that decide its next step. */
export interface RenewalRow {
  device_id: number;
  /** The identity to be replaced. */
  fingerprint: Buffer;
  command_id: number | null;
  attempts: number;
  /** The identity that the device uses now; null if it has none. */
  active_fingerprint: Buffer | null;
  udid: string | null;
  enrollment_method: string | null;
  managed_apple_account: string | null;
  is_enrolled: boolean;
  enrollment_number: number;
  topic: string | null;
  /** The cell label of its ServerURL. */
  cell: number | null;
  /** Identifier of the profile with the MDM payload, as last reported. */
  profile_identifier: string | null;
  /** Status of the command; null if there is none. */
  status: string | null;
  acknowledged_at: Date | null;
  reason: string | null;
  error_chain: { LocalizedDescription?: unknown }[] | null;
}

/** The next state of a renewal. */
export interface RenewalState {
  deviceId: number;
  fingerprint: Buffer;
  commandId: number | null;
  attempts: number;
  nextAttemptAt: Date;
  problem: string | null;
}

const DUE = `
insert into identity_renewals (device_id, fingerprint, next_attempt_at)
select i.device_id, i.fingerprint, now()
from device_identities i join devices d on d.id = i.device_id
where i.state = 'active' and i.renew_at <= now() and d.is_enrolled
  and (d.udid is not null
    or d.enrollment_method = 'account_user' and d.managed_apple_account is not null)
  and not exists (select from identity_renewals r where r.device_id = i.device_id)
order by i.renew_at
limit ?
on conflict do nothing`;

/** Begins at most `limit` renewals that are due, the earliest due first. Returns how many. */
export async function beginDueRenewals(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(DUE, [limit]);
  return rowCount;
}

// Runs after the locks, so that it sees what their former holders wrote.
const DESCRIBE = `
select r.device_id, r.fingerprint, r.command_id, r.attempts, p.fingerprint as active_fingerprint,
  d.udid, d.enrollment_method, d.managed_apple_account, d.is_enrolled, d.enrollment_number,
  d.topic, d.cell, e.payload_identifier as profile_identifier,
  c.status, c.acknowledged_at, c.reason, c.error_chain
from identity_renewals r
join devices d on d.id = r.device_id
left join commands c on c.id = r.command_id
left join lateral (
  select i.fingerprint from device_identities i
  where i.device_id = d.id and i.state = 'active' order by i.changed_at desc limit 1
) p on true
left join lateral (
  select f.payload_identifier from installed_profiles f
  where f.device_id = d.id and exists (select from installed_payloads y
    where y.installed_profile_id = f.id and y.payload_type = 'com.apple.mdm')
  order by f.id limit 1
) e on true
where r.device_id = any(?::bigint[])
order by r.device_id`;

async function describe(trx: Knex.Transaction, ids: number[]): Promise<RenewalRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await trx.raw<{ rows: RenewalRow[] }>(DESCRIBE, [ids]);
  return rows;
}

/** Renewals whose next attempt is due, in the order of devices; locked until the transaction ends. */
export async function claimRenewals(trx: Knex.Transaction, limit: number): Promise<RenewalRow[]> {
  const ids = await trx('identity_renewals')
    .where('next_attempt_at', '<=', trx.fn.now())
    .orderBy('next_attempt_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .pluck<number[]>('device_id');
  return await describe(trx, ids);
}

const BEGIN = `
insert into identity_renewals (device_id, fingerprint, next_attempt_at)
select i.device_id, i.fingerprint, now() from device_identities i
where i.device_id = ? and i.state = 'active'
order by i.changed_at desc limit 1
on conflict do nothing`;

/**
 * The renewal of this device, begun if there was none, locked until the transaction ends. Undefined if
 * the device has no identity to renew.
 */
export async function claimRenewalOf(
  trx: Knex.Transaction,
  deviceId: number,
): Promise<RenewalRow | undefined> {
  await trx.raw(BEGIN, [deviceId]);
  const locked = trx('identity_renewals').where({ device_id: deviceId }).forUpdate();
  const [row] = await describe(trx, await locked.pluck<number[]>('device_id'));
  return row;
}

const UPDATE = `
update identity_renewals r set
  fingerprint = q.fingerprint, command_id = q.command_id, attempts = q.attempts,
  next_attempt_at = q.next_attempt_at, problem = q.problem, changed_at = now()
from unnest(:ids::bigint[], :fingerprints::bytea[], :commands::bigint[], :attempts::integer[],
    :times::timestamptz[], :problems::text[])
  as q (device_id, fingerprint, command_id, attempts, next_attempt_at, problem)
where r.device_id = q.device_id`;

/** Writes the next states of renewals, which the caller has locked. */
export async function updateRenewals(
  trx: Knex.Transaction,
  states: readonly RenewalState[],
): Promise<void> {
  if (states.length === 0) return;
  await trx.raw(UPDATE, {
    ids: states.map(({ deviceId }) => deviceId),
    fingerprints: states.map(({ fingerprint }) => fingerprint),
    commands: states.map(({ commandId }) => commandId),
    attempts: states.map(({ attempts }) => attempts),
    times: states.map(({ nextAttemptAt }) => nextAttemptAt),
    problems: states.map(({ problem }) => problem),
  });
}

/** Ends renewals, which the caller has locked. */
export async function deleteRenewals(
  trx: Knex.Transaction,
  deviceIds: readonly number[],
): Promise<void> {
  if (deviceIds.length > 0) {
    await trx('identity_renewals').whereIn('device_id', deviceIds).delete();
  }
}

/** Cancels pending renewal commands of renewed devices: they would renew them again. */
export async function withdrawRenewalCommands(
  trx: Knex.Transaction,
  commandIds: readonly number[],
): Promise<void> {
  if (commandIds.length === 0) return;
  await trx('commands')
    .whereIn('id', commandIds)
    .where({ is_pending: true })
    .update({ status: 'Cancelled', reason: 'the identity was renewed', ended_at: trx.fn.now() });
}
