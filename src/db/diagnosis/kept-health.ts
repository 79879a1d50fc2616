import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';
import type { RuleLimits } from './finding-rule.js';
import { candidatesSql, IS_FOUND } from './findings.js';

const CANDIDATES = candidatesSql({ withFacts: false });

/** Enrollments that should have ended, by the index `devices_enrolling`. */
const unfinished = (setup: string) => `
  select id from devices
  where enrollment_state = 'authenticated' and health is distinct from 'stuck'
    and authenticated_at <= now() - ${setup}::double precision * interval '1 ms'`;

const ANY_WORK = `
select exists (select from health_marks)
  or exists (select from device_health where due_at <= now())
  or exists (${unfinished('$1')}) as found`;

/** Whether any device is to be evaluated. Rejects with the driver's error. */
export async function hasHealthWork(
  { background }: Database,
  { setup }: Pick<RuleLimits, 'setup'>,
): Promise<boolean> {
  const { rows } = await background.query<{ found: boolean }>(ANY_WORK, [setup]);
  return rows[0]?.found === true;
}

/** ASCII of `mshl`, for this use alone. */
const EVALUATION_LOCK = 0x6d73686c;

/**
 * An older snapshot must not overwrite what a newer one stored, so one process evaluates at a time. A
 * plan for a few devices must not read whole tables because they were small when it was made.
 */
const LOCK = `
select pg_try_advisory_xact_lock(?) as "isLocked", set_config('jit', 'off', true),
  set_config('enable_seqscan', 'off', true)`;

/** False while another process evaluates. Ends with the transaction. */
export async function lockHealth(trx: Knex.Transaction): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { isLocked: boolean }[] }>(LOCK, [EVALUATION_LOCK]);
  return rows[0]?.isLocked === true;
}

/** The newest first: a change does not wait behind an evaluation of the whole fleet. */
const CLAIM = `
with claimed as (
  delete from health_marks where id in (
    select id from health_marks order by id desc limit :limit for update skip locked)
  returning device_id
), due as (
  select device_id from device_health where due_at <= now() order by due_at limit :limit
)
select device_id as id from claimed union select device_id from due
union (${unfinished(':setup')} limit :limit) order by id`;

/** Removes marks with the transaction, and returns their devices and those that are due. */
export async function claimHealthWork(
  trx: Knex.Transaction,
  { limit, setup }: Pick<RuleLimits, 'setup'> & { limit: number },
): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(CLAIM, { limit, setup });
  return rows.map(({ id }) => id);
}

/**
 * Applies the rules and writes what differs from what is stored. A timer that is earlier than needed
 * stays: the device is then evaluated once too often, which costs less than a write now.
 */
export const EVALUATE = `
with ${CANDIDATES}, found as materialized (
  select c.device_id, c.code, c.severity, coalesce(c.since, k.since, now()) as since
  from candidate c
  left join device_findings k on k.device_id = c.device_id and k.code = c.code
  where ${IS_FOUND}
), due as (
  select c.device_id, min(t.at) as at
  from candidate c cross join lateral (values (c.starts_at), (c.ends_at)) t (at)
  where t.at > now() group by c.device_id
), worst as (
  select device_id, bool_or(severity = 'stuck') as is_stuck,
    bool_or(severity = 'attention') as needs_attention
  from found group by device_id
), judged as materialized (
  select s.id, due.at as due_at,
    case when w.is_stuck then 'stuck' when w.needs_attention then 'attention'
      when s.is_enrolled then 'ok' end as health
  from subject s left join worst w on w.device_id = s.id left join due on due.device_id = s.id
), ended as (
  delete from device_findings k using subject s
  where k.device_id = s.id and not exists (
    select from found f where f.device_id = k.device_id and f.code = k.code)
), begun as (
  insert into device_findings (device_id, code, severity, since)
  select f.device_id, f.code, f.severity, f.since
  from found f
  left join device_findings k on k.device_id = f.device_id and k.code = f.code
  where k.device_id is null or (k.severity, k.since) is distinct from (f.severity, f.since)
  order by f.device_id, f.code
  on conflict (device_id, code) do update
    set severity = excluded.severity, since = excluded.since
), changed as materialized (
  select d.id, j.health from devices d join judged j on j.id = d.id
  where d.health is distinct from j.health
  order by d.id for no key update of d
), stored as (
  update devices d set health = c.health from changed c where d.id = c.id returning d.id
), timed as (
  insert into device_health (device_id, health, due_at)
  select j.id, j.health, j.due_at
  from judged j left join device_health k on k.device_id = j.id
  where case when k.device_id is null then j.health is not null or j.due_at is not null
    else k.health is distinct from j.health or k.due_at <= now()
      or j.due_at < coalesce(k.due_at, 'infinity') end
  order by j.id
  on conflict (device_id) do update set health = excluded.health, due_at = excluded.due_at
)
select count(*)::integer as count from stored`;

/**
 * Evaluates these devices. Returns how many have another health now. Rejects with the driver's error, of a
 * foreign key where a device is deleted meanwhile.
 */
export async function evaluateHealth(
  trx: Knex.Transaction,
  devices: number[],
  limits: RuleLimits,
): Promise<number> {
  if (devices.length === 0) return 0;
  const { rows } = await trx.raw<{ rows: { count: number }[] }>(EVALUATE, { devices, ...limits });
  return rows[0]?.count ?? 0;
}

const MARK_ALL = `
with changed as (
  update health_state set rules = :rules where rules is distinct from :rules returning id
), marked as (
  insert into health_marks (device_id) select d.id from devices d, changed returning id
)
select count(*)::integer as count from marked`;

/**
 * Marks every device if the rules or their limits are others than those by which the devices were
 * evaluated. Returns how many it marked.
 */
export async function markAllIfRulesChanged(knex: Knex, limits: RuleLimits): Promise<number> {
  const hash = createHash('sha256').update(CANDIDATES).update(JSON.stringify(limits));
  const rules = hash.digest('hex');
  const { rows } = await knex.raw<{ rows: { count: number }[] }>(MARK_ALL, { rules });
  return rows[0]?.count ?? 0;
}
