import type { Knex } from 'knex';

export type SetupState = 'waiting' | 'configured' | 'failed';

/** The setup of a device in Setup Assistant, with the facts that decide its next step. */
export interface DeviceSetupRow {
  id: number;
  device_id: number;
  enrollment_number: number;
  /** The device's; differs if it has enrolled again. */
  current_enrollment_number: number;
  enrollment_state: string | null;
  /** As last reported; null if never. */
  awaiting_configuration: boolean | null;
  attempts: number;
  reason: string | null;
  started_at: Date;
  due_at: Date;
  /** DeviceConfigured; null if there is none. */
  command_id: number | null;
  status: string | null;
  command_reason: string | null;
  error_chain: { LocalizedDescription?: unknown }[] | null;
  /** The first other command that is pending. */
  unanswered_id: number | null;
  unanswered_type: string | null;
  unanswered_status: string | null;
}

/** A setup that has just begun. */
export interface BegunSetup {
  id: number;
  deviceId: number;
  /** The device proved its serial number with Apple's certificate in the present enrollment. */
  isProved: boolean;
}

const BEGIN = `
with device as (
  select id, enrollment_number,
    coalesce(enrollment_method = 'automated', false) as is_proved
  from devices
  where id = :deviceId and is_enrolled and awaiting_configuration
  for no key update
), begun as (
  insert into device_setups as s (device_id, enrollment_number, due_at)
  select id, enrollment_number, now() + :timeout::double precision * interval '1 ms' from device
  on conflict (device_id, enrollment_number) do update set
    state = 'waiting', command_id = null, reason = null, attempts = 0, started_at = now(),
    due_at = excluded.due_at, ended_at = null
  where s.state <> 'waiting' and s.ended_at < now() - interval '1 minute'
  returning id, device_id
)
select begun.id, device.id as "deviceId", device.is_proved as "isProved"
from begun join device on device.id = begun.device_id`;

/**
 * Begins the setup of a device that awaits configuration, and locks the device: once for each
 * enrollment, and again if it still waits a minute after its setup ended. Undefined if nothing begins.
 */
export async function beginSetup(
  trx: Knex.Transaction,
  { deviceId, timeout }: { deviceId: number; timeout: number },
): Promise<BegunSetup | undefined> {
  const { rows } = await trx.raw<{ rows: BegunSetup[] }>(BEGIN, { deviceId, timeout });
  return rows[0];
}

/** Devices that wait in Setup Assistant without a setup, as after a crash. */
export async function findUnbegunSetups(knex: Knex, limit: number): Promise<number[]> {
  return await knex('devices as d')
    .where({ 'd.awaiting_configuration': true, 'd.is_enrolled': true })
    .whereNotExists((query) =>
      query
        .from('device_setups as s')
        .whereRaw('s.device_id = d.id and s.enrollment_number = d.enrollment_number'),
    )
    .orderBy('d.id')
    .limit(limit)
    .pluck('d.id');
}

// Locks the device first, as the handling of a report and the begin of a setup do.
const CLAIM = `
with due as (
  select s.device_id, s.due_at
  from device_setups s join devices d on d.id = s.device_id
  left join commands c on c.id = s.command_id
  where s.state = 'waiting' and (s.due_at <= now()
    or d.enrollment_number <> s.enrollment_number or not d.is_enrolled
    or d.awaiting_configuration is false
    or c.id is null or not c.is_pending)
  order by s.due_at
  limit ?
)
select d.id from devices d join due on due.device_id = d.id
order by d.id
for no key update of d skip locked`;

const DESCRIBE = `
select s.id, s.device_id, s.enrollment_number, d.enrollment_number as current_enrollment_number,
  d.enrollment_state, d.awaiting_configuration, s.attempts, s.reason, s.started_at, s.due_at,
  c.id as command_id, c.status, c.reason as command_reason, c.error_chain,
  u.id as unanswered_id, u.request_type as unanswered_type, u.status as unanswered_status
from device_setups s join devices d on d.id = s.device_id
left join commands c on c.id = s.command_id
left join lateral (
  select o.id, o.request_type, o.status from commands o
  where o.device_id = d.id and o.is_pending and o.device_user_id is null
    and o.request_type <> 'DeviceConfigured' and (o.after is null or o.after <= now())
  order by o.priority desc, o.id limit 1
) u on true
where s.device_id = any(?::bigint[]) and s.state = 'waiting'
order by s.device_id, s.id
for update of s`;

/**
 * Setups whose next step is due: they are overdue, their command has ended, or their device has moved
 * on. Locks their devices until the transaction ends.
 */
export async function claimSetups(trx: Knex.Transaction, limit: number): Promise<DeviceSetupRow[]> {
  const locked = await trx.raw<{ rows: { id: number }[] }>(CLAIM, [limit]);
  if (locked.rows.length === 0) return [];
  const ids = locked.rows.map(({ id }) => id);
  const { rows } = await trx.raw<{ rows: DeviceSetupRow[] }>(DESCRIBE, [ids]);
  return rows;
}

export interface SetupChange {
  state?: SetupState;
  reason?: string | null;
  command_id?: number | null;
  attempts?: number;
  due_at?: Date;
}

/** Writes the next step of a setup. The caller has locked the device. */
export async function updateSetup(
  trx: Knex.Transaction,
  id: number,
  change: SetupChange,
): Promise<void> {
  const isOver = change.state !== undefined && change.state !== 'waiting';
  await trx('device_setups')
    .where({ id })
    .update({ ...change, ended_at: isOver ? trx.fn.now() : undefined });
}

/** Raises the priority of a command that is still pending. */
export async function raisePriority(
  trx: Knex.Transaction,
  commandId: number,
  priority: number,
): Promise<void> {
  await trx('commands')
    .where({ id: commandId, is_pending: true })
    .update({ priority, after: null });
}

const CONFIGURED = `
with device as (
  update devices set awaiting_configuration = false
  where id = :deviceId and awaiting_configuration is distinct from false
), setup as (
  update device_setups s set state = 'configured', ended_at = now()
  from devices d
  where s.device_id = :deviceId and d.id = s.device_id
    and s.enrollment_number = d.enrollment_number and s.state <> 'configured'
  returning s.id, s.command_id, s.reason
), other_release as (
  update commands c set status = 'Cancelled', ended_at = now(), reason = 'the device has left Setup Assistant'
  from setup where c.id = setup.command_id and c.uuid <> :uuid and c.is_pending
)
select id, reason from setup`;

/**
 * Stores that the command with this uuid released the device from Setup Assistant, and cancels another
 * pending one. Returns the setup that ended. The caller has locked the device.
 */
export async function noteConfigured(
  trx: Knex.Transaction,
  report: { deviceId: number; uuid: string },
): Promise<{ id: number; reason: string | null } | undefined> {
  type Ended = { id: number; reason: string | null };
  const { rows } = await trx.raw<{ rows: Ended[] }>(CONFIGURED, report);
  return rows[0];
}
