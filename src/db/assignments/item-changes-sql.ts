import { AFTER, BUILT, PACED } from './credential-pace-sql.js';

/** The columns of an item that has failed, or waits for another attempt, and is tried anew. */
export const TRIED_AGAIN = `
    state = case when state = 'removing' or reason_code = 'not_removed' then 'removing'
      else 'pending' end,
    reason_code = null, reason = null, attempts = 0, next_attempt_at = null, changed_at = now()`;

/** Commands that are superseded before they were sent; one that is sent meanwhile is left. */
export const CHANGES = `
cancelled as (
  update commands c set status = 'Cancelled', ended_at = now(), device_item_id = null,
    reason = 'superseded: the assignments of the device have changed'
  from next n
  where c.id = n.command_id and n.is_unsent and c.is_pending and c.sent_at is null
  returning c.id
), forgotten as (
  delete from device_items i using next n
  where i.id = n.item_id and n.step = 'forget'
    and (not n.is_unsent or exists (select from cancelled c where c.id = n.command_id))
  returning i.id
), inserted as (
  insert into device_items (device_id, device_user_id, item_key, identifier, profile_id, profile_version_id, version,
    assignment_id, payload_uuid, payload_values, priority, enrollment_number, state, reason_code, reason,
    action, command_id)
  select device_id, device_user_id, item_key, identifier, profile_id, version_id, version,
    assignment_id, uuid, payload_values, priority, present_enrollment, next_state, next_code, next_reason,
    next_action, next_command_id
  from numbered where item_id is null and is_wanted
  returning id, action
), updated as (
  update device_items i set
    profile_id = coalesce(n.profile_id, i.profile_id),
    profile_version_id = coalesce(n.version_id, i.profile_version_id),
    version = coalesce(n.version, i.version),
    assignment_id = n.assignment_id,
    payload_uuid = coalesce(n.uuid, i.payload_uuid),
    payload_values = case when n.is_wanted then n.payload_values else i.payload_values end,
    priority = coalesce(n.priority, i.priority),
    enrollment_number = n.present_enrollment,
    state = n.next_state,
    reason_code = n.next_code,
    reason = n.next_reason,
    action = n.next_action,
    command_id = coalesce(n.next_command_id, i.command_id),
    attempts = n.next_attempts,
    next_attempt_at = n.next_at,
    installed_uuid = case
      when not n.is_of_enrollment then null
      when n.step = 'installed' then n.uuid
      else i.installed_uuid end,
    installed_version = case
      when not n.is_of_enrollment then null
      when n.step = 'installed' then n.version
      else i.installed_version end,
    acted_at = case
      when not n.is_of_enrollment then null
      else coalesce(n.acknowledged_at, i.acted_at) end,
    repairs = case
      when n.step = 'repair' then i.repairs + 1
      when n.step = 'install' and n.uuid is distinct from i.payload_uuid then 0
      else i.repairs end,
    left_by_rule = n.step = 'paused' and not n.is_wanted and (
      i.left_by_rule or n.device_id in (select device_id from leaving)),
    changed_at = now()
  from numbered n
  where i.id = n.item_id and n.step <> 'forget'
    and not (n.is_unsent and n.step = 'keep'
      and not exists (select from cancelled c where c.id = n.command_id))
    and (n.step not in ('verified', 'not_enrolled', 'withheld', 'conflict', 'paused', 'no_value',
        'waits_for_item', 'no_user', 'unfit', 'mass_removal',
        'remove_waits')
      or (i.state, i.reason_code, i.reason, i.version, i.enrollment_number, i.assignment_id)
        is distinct from (n.next_state, n.next_code, n.next_reason, coalesce(n.version, i.version),
          n.present_enrollment, n.assignment_id))
  returning i.id, i.action
), marked as (
  -- Others may have waited for it. The subquery is no join, which PostgreSQL might make of all items.
  insert into reconcile_marks (device_id)
  select distinct n.device_id from next n
  where (n.step = 'forget' or n.next_state is distinct from n.state) and (
    select true from device_items i
    where i.device_id = n.device_id and i.reason_code = 'waiting_for_item'
      and i.item_key <> n.item_key limit 1)
)`;

const ESCAPED = `replace(replace(replace(i.identifier, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')`;

/**
 * The commands that these items name and that don't exist yet. Installs share the payload of
 * their version; those whose version has none yet are left. The subquery is no join, which PostgreSQL might
 * make of all commands.
 */
export const QUEUE_ITEM_COMMANDS = `
with ${BUILT}, due as (
  select i.id, i.command_id, i.device_id, i.device_user_id, i.action, p.sha256,
    i.action = 'install' and p.fetches_credential as fetches_credential, ordered_uuid() as uuid, ${ESCAPED} as identifier,
    case when i.action = 'install' and i.payload_values is not null then
      jsonb_build_object('uuid', i.payload_uuid, 'values', i.payload_values) end as payload_values
  from device_items i
  left join built p on p.version_id = i.profile_version_id
  where i.id = any(:items::bigint[])
    and (select c.id from commands c where c.id = i.command_id) is null
    and (i.action = 'remove' or p.sha256 is not null)
), ${PACED}
insert into commands (id, uuid, device_id, device_user_id, request_type, payload, payload_sha256,
  payload_values, device_item_id, after)
overriding system value
select command_id, uuid, device_id, device_user_id,
  case action when 'install' then 'InstallProfile' else 'RemoveProfile' end,
  case action when 'remove' then convert_to(
    replace(replace(:removal, 'IDENTIFIER', identifier), '00000000-0000-0000-0000-000000000000',
      uuid::text), 'UTF8') end,
  case action when 'install' then sha256 end, payload_values, id,
  ${AFTER}
from due left join slot s using (id)
order by command_id
returning device_id, device_user_id`;
