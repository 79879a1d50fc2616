import type { Knex } from 'knex';

/** Priority of inventory commands (db/devices/command-repository). They also wait for commands answered NotNow. */
const LAST_PRIORITY = -1_000_000;

/** Who did something, as the audit trail knows it. */
export interface TimelineActor {
  name: string;
  role: string;
}

/** A command and what its steps are made of. Times are null where nothing has recorded them. */
export interface TimelineFacts {
  now: Date;
  id: number;
  device_id: number;
  device_user_id: number | null;
  request_type: string;
  status: string;
  is_pending: boolean;
  reason: string | null;
  attempts: number;
  ttl: number;
  is_forced: boolean;
  is_scheduled: boolean;
  queued_at: Date;
  sent_at: Date | null;
  acknowledged_at: Date | null;
  not_now_since: Date | null;
  ended_at: Date | null;
  after: Date | null;
  is_held: boolean;
  expires_at: Date | null;
  /** The text of the device's error. */
  error: string | null;
  /** Items of an acknowledged command that the device refused, and the texts of their errors. */
  refused: { item: string; error: string | null }[] | null;
  batch_id: number | null;
  batch_creator: string | null;
  spread: number | null;
  item_id: number | null;
  assignment_id: number | null;
  queued_by: TimelineActor | null;
  ended_by: TimelineActor | null;
  retry_of_id: number | null;
  retried_as_id: number | null;
  retried_at: Date | null;
  enrollment_state: string | null;
  unenrolled_at: Date | null;
  topic: string | null;
  /** `is_enrolled` and `has_token` of the device, or of its user if the command is for the user. */
  is_enrolled: boolean;
  has_token: boolean;
  push_state: string | null;
  last_push_at: Date | null;
  last_push_result: string | null;
  last_apns_id: string | null;
  last_seen: Date | null;
  is_silent: boolean;
  next_push_at: Date | null;
  /** Commands that are offered before this one, which was never sent, and the first of them. */
  ahead: number;
  ahead_id: number | null;
  ahead_type: string | null;
}

// An audit event has the time of its transaction, as `queued_at` and `ended_at` have.
const actorAt = (time: string) => `(
    select jsonb_build_object('name', e.actor, 'role', e.role) from audit_events e
    where e.at = ${time} and e.outcome = 'success' and e.role in ('operator', 'admin') and (
      e.target_type = 'commands' and e.target_id = c.id::text
      or e.target_type = 'devices' and e.target_id = c.device_id::text
      or e.target_type = 'command_batches' and e.target_id = c.command_batch_id::text
      or e.target_type = 'profiles' and c.request_type in ('InstallProfile', 'RemoveProfile'))
    order by e.target_type = 'commands' desc, e.id limit 1)`;

const IS_SAME_RECIPIENT = (other: string) =>
  `${other}.device_id = c.device_id and ${other}.device_user_id is not distinct from c.device_user_id`;

const READ = `
select now() as now, c.id, c.device_id, c.device_user_id, c.request_type, c.status, c.is_pending, c.reason,
  c.attempts, c.ttl, c.is_forced, c.scheduled_sha256 is not null as is_scheduled, c.queued_at, c.sent_at,
  c.acknowledged_at, c.not_now_since, c.ended_at, c.after, coalesce(c.after > now(), false) as is_held,
  c.expires_at,
  left(coalesce(c.error_chain -> 0 ->> 'USEnglishDescription',
    c.error_chain -> 0 ->> 'LocalizedDescription'), 200) as error,
  case when c.status = 'Acknowledged' and jsonb_typeof(c.error_chain) = 'array' then (
    select jsonb_agg(jsonb_build_object('item', e.value ->> 'Item', 'error', left(coalesce(
      e.value ->> 'USEnglishDescription', e.value ->> 'LocalizedDescription'), 200)) order by e.n)
    from jsonb_array_elements(c.error_chain) with ordinality as e (value, n)
    where e.value ->> 'Item' is not null) end as refused,
  b.id as batch_id, b.created_by as batch_creator, b.spread,
  i.id as item_id, i.assignment_id,
  ${actorAt('c.queued_at')} as queued_by, ${actorAt('c.ended_at')} as ended_by,
  o.id as retry_of_id, n.id as retried_as_id, n.queued_at as retried_at,
  d.enrollment_state, d.unenrolled_at, d.topic,
  r.*, coalesce(coalesce(r.last_seen, d.enrolled_at)
    + :silent::double precision * interval '1 ms' <= now(), false) as is_silent,
  coalesce(w.ahead, 0)::integer as ahead, w.ahead_id, w.ahead_type
from commands c
join devices d on d.id = c.device_id
cross join lateral (
  select d.is_enrolled, d.sealed_push is not null as has_token, d.push_state, d.last_push_at,
    d.last_push_result, d.last_apns_id, d.last_seen,
    (select p.due_at from device_pushes p where p.device_id = d.id) as next_push_at
  where c.device_user_id is null
  union all
  select d.is_enrolled and u.is_enrolled, u.sealed_push is not null, u.push_state, u.last_push_at,
    u.last_push_result, null, u.last_seen,
    (select p.due_at from user_pushes p where p.device_user_id = u.id)
  from device_users u where u.id = c.device_user_id) r
left join command_batches b on b.id = c.command_batch_id
left join device_items i on i.id = c.device_item_id
left join lateral (
  select o.id from commands o
  where o.command_batch_id = b.retry_of_id and ${IS_SAME_RECIPIENT('o')}
  order by o.id desc limit 1) o on true
left join lateral (
  select n.id, n.queued_at from command_batches x join commands n on n.command_batch_id = x.id
  where x.retry_of_id = c.command_batch_id and ${IS_SAME_RECIPIENT('n')}
  order by n.id limit 1) n on true
left join lateral (
  select count(*) as ahead, (array_agg(w.id order by w.priority desc, w.id))[1] as ahead_id,
    (array_agg(w.request_type order by w.priority desc, w.id))[1] as ahead_type
  from commands w
  where ${IS_SAME_RECIPIENT('w')} and w.is_pending and c.is_pending and c.sent_at is null
    and (w.priority, -w.id) > (c.priority, -c.id) and (w.after is null or w.after <= now())
    and (w.status <> 'NotNow' or c.priority <= ${LAST_PRIORITY})) w on true
where c.id = :id`;

/**
 * Reads a command with all that its timeline says. `silent`: milliseconds without a contact, null for
 * any number. Undefined if there is no such command. Rejects with the driver's error.
 */
export async function findTimelineFacts(
  knex: Knex,
  id: number,
  silent: number | null,
): Promise<TimelineFacts | undefined> {
  const { rows } = await knex.raw<{ rows: TimelineFacts[] }>(READ, { id, silent });
  return rows[0];
}
