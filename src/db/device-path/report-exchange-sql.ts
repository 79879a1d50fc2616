import { LAST_PRIORITY } from '../devices/command-repository.js';
import { OFFER_COLUMNS } from '../devices/device-repository.js';

interface Channel {
  /** The additional parameter: its type for many reports and for one, and its name. */
  parameter: { many: string; one: string; name: string };
  columns: string;
  join: string;
  /** Whether the row of `commands` with this alias is addressed to the sender, `live l` or `sender`. */
  isOwn: (command: string, sender?: string) => string;
  /** Whether the sender may receive commands. */
  isServed: string;
  /** Further CTEs. */
  more: string;
}

const DEVICE: Channel = {
  parameter: { many: '', one: '', name: '' },
  columns: '',
  join: '',
  isOwn: (c, l = 'l') => `${c}.device_id = ${l}.device_id and ${c}.device_user_id is null`,
  isServed: 'true',
  more: '',
};

const USER: Channel = {
  parameter: { many: ', $9::text[]', one: ', $9::text', name: ', user_key' },
  columns: ', u.id as user_id, u.is_enrolled as is_user_enrolled',
  join: `left join device_users u on u.device_id = d.id and lower(u.user_key) = lower(q.user_key)`,
  isOwn: (c, l = 'l') => `${c}.device_user_id = ${l}.user_id`,
  isServed: 'l.is_user_enrolled',
  more: `, user_seen as (
  update device_users u set last_seen = now() from live l where u.id = l.user_id
)`,
};

const FACT_COLUMNS = OFFER_COLUMNS.map((name) => `d.${name}`).join(', ');
const FACT_MEMBERS = OFFER_COLUMNS.map((name) => `'${name}', l.${name}`).join(', ');

const NAMES = 'fingerprint, device_key, status, uuid, error_chain, result';

function many({ parameter: { many: type, name } }: Channel): string {
  return `unnest($1::bytea[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::bytea[]${type})
  with ordinality as q (${NAMES}${name}, ord)`;
}

function one({ parameter: { one: type, name } }: Channel): string {
  return `(values ($1::bytea, $2::text, $3::text, $4::uuid, $5::text, $6::bytea${type}, 1))
  as q (${NAMES}${name}, ord)`;
}

/**
 * Identifies the sender, stores its report and claims its next command, in one statement. All CTEs see
 * the same snapshot, so the reported command is excluded from the choice by its uuid. A report also
 * completes a command that expired or was cancelled meanwhile, since the device did execute it. Device and user
 * channel have separate commands.
 *
 * A contact begins with Idle; the further messages of the device report commands, which note when it began. A
 * command answered NotNow is offered again in another contact, but not in reply to NotNow. A command of the
 * last priority is only sent once there is no such command. The
 * commands of a cancelled batch become final some thousands at a time: none is sent meanwhile. The statement also
 * returns the facts of the device, to check that it is still eligible for the command.
 */
function exchangeSql(source: string, { columns, join, isOwn, isServed, more }: Channel): string {
  return `
with sender as (
  select q.*, i.state as pin_state, d.id as device_id, d.enrollment_state,
    lower(coalesce(d.udid, d.enrollment_id)) = q.device_key as is_same_device,
    ${FACT_COLUMNS}${columns}
  from ${source}
  left join device_identities i on i.fingerprint = q.fingerprint
  left join devices d on d.id = i.device_id
  ${join}
), live as (
  select sender.*, case when status = 'Idle' then now() else (
    select c.contact_at from commands c where c.uuid = sender.uuid and ${isOwn('c', 'sender')}
  ) end as contact_at
  from sender
  where is_same_device and enrollment_state = 'enrolled' and pin_state in ('active', 'renewal')
), reported as (
  update commands c set
    status = l.status,
    acknowledged_at = now(),
    error_chain = l.error_chain::jsonb,
    result = l.result,
    reason = null,
    failed_at = case when l.status in ('Error', 'CommandFormatError') then now() end,
    not_now_since = case when l.status = 'NotNow' then coalesce(c.not_now_since, now())
      else c.not_now_since end,
    ttl = case when l.status = 'NotNow' and c.status = 'Sent' then c.ttl + 1 else c.ttl end,
    needs_handling = l.status = 'Acknowledged' and c.request_type = any($7::text[])
  from live l
  where c.uuid = l.uuid and ${isOwn('c')} and (
    c.is_pending
    or (c.status in ('Expired', 'Cancelled') and c.sent_at is not null and l.status <> 'NotNow'))
  returning l.ord, c.id, c.request_type, c.needs_handling
), next as (
  select l.ord, n.id, n.exhausted
  from live l cross join lateral (
    select c.id, c.status = 'Sent' and c.ttl <= 0 as exhausted
    from commands c
    where ${isOwn('c')} and ${isServed}
      and c.is_pending
      and c.uuid is distinct from l.uuid
      and (c.status <> 'NotNow' or l.status <> 'NotNow' and c.acknowledged_at < l.contact_at)
      and (l.status = 'Idle' or c.priority > ${LAST_PRIORITY} or l.status <> 'NotNow' and not exists (
        select from commands w where ${isOwn('w')} and w.is_pending and w.status = 'NotNow'))
      and (c.after is null or c.after <= now())
      and (c.expires_at is null or c.expires_at > now())
      and (c.command_batch_id is null or not exists (
        select from command_batches b where b.id = c.command_batch_id and b.state = 'cancelled'))
    order by c.priority desc, c.id
    limit 1
    for update of c skip locked
  ) n
), sent as (
  update commands c set
    status = 'Sent', sent_at = now(), contact_at = l.contact_at,
    attempts = c.attempts + 1, ttl = greatest(c.ttl - 1, 0)
  from next n join live l using (ord)
  where c.id = n.id and not n.exhausted
  returning n.ord, c.uuid, c.payload, c.payload_sha256, c.payload_values,
    c.request_type, c.is_forced,
    json_build_object(${FACT_MEMBERS})::text as facts
)${more}
select sender.pin_state, sender.device_id, sender.enrollment_state, sender.is_same_device,
  reported.id as reported_id, reported.request_type as reported_type, reported.needs_handling,
  sent.uuid as next_uuid, sent.payload as next_payload, sent.request_type as next_type,
  sent.payload_sha256 as next_sha256,
  case when p.sha256 <> all($8::bytea[]) then p.body end as next_body,
  sent.payload_values as next_values,
  case when sent.payload_values is not null then (
    select jsonb_object_agg(s.id, jsonb_build_array(s.version, encode(s.sealed_value, 'base64')))
    from jsonb_each(sent.payload_values -> 'values') e
    join profile_secrets s
      on s.id = case jsonb_typeof(e.value) when 'array' then (e.value ->> 0)::bigint end
  ) end as next_secrets,
  sent.is_forced as next_forced, sent.facts as next_facts, next.exhausted
from sender
left join reported using (ord)
left join next using (ord)
left join sent using (ord)
left join command_payloads p on p.sha256 = sent.payload_sha256
order by sender.ord`;
}

function statements(name: string, channel: Channel) {
  return {
    many: { name: `${name}_many`, text: exchangeSql(many(channel), channel) },
    one: { name: `${name}_one`, text: exchangeSql(one(channel), channel) },
  };
}

/**
 * For many reports, whose parameters are arrays, and for a single one. Parameters: fingerprint, device
 * key, status, command, error chain, result; the handled types; hashes of shared payloads whose bytes
 * need not be returned; on the user channel the user key. The expanded texts are the snapshot of the
 * test.
 */
export const EXCHANGE = {
  device: statements('report_exchange', DEVICE),
  user: statements('user_report_exchange', USER),
};
