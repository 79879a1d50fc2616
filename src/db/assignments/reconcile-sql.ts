import { ENROLLMENT_IDENTIFIER } from '../admin/settings-repository.js';
import { CHANGES } from './item-changes-sql.js';
import { BRAKED, MASS_REMOVALS } from './mass-removal-sql.js';
import { ITEM, WANTED } from './wanted-sql.js';

/** A failed install or removal is repeated until it has failed so often. */
const MAX_ATTEMPTS = 3;

/** What is stored and known of the same devices and items. */
const CURRENT = `
device as (
  select d.id from devices d where d.id = any(:devices::bigint[])
), current_item as (
  select * from device_items where device_id = any(:devices::bigint[]) and :item_key::text is null
  union all
  select * from device_items where device_id = any(:devices::bigint[]) and item_key = :item_key
)`;

/** Wanted beside what there is, with the command under way and what the device has listed. */
const PAIRS = `
pair as (
  select d.id as device_id, d.is_enrolled, d.enrollment_number as present_enrollment,
    d.is_withheld, d.is_flapping, coalesce(w.lacks_user, false) as lacks_user,
    coalesce(w.device_user_id, i.device_user_id) as device_user_id,
    d.is_paused or d.is_flapping or h.paused_at is not null as is_paused,
    h.removals_paused_at is not null as is_held, i.profile_id as held_profile_id,
    coalesce(w.item_key, i.item_key) as item_key, coalesce(w.identifier, i.identifier) as identifier,
    w.profile_id, w.priority, i.priority as held_priority, w.assignment_id, w.version_id, w.version, w.uuid,
    w.payload_values, w.missing, w.waits_for, w.unfit, w.unfit_reason,
    w.device_id is not null as is_wanted,
    i.id as item_id, i.state, i.reason_code, i.action, i.command_id, i.attempts, i.next_attempt_at,
    i.payload_uuid, i.installed_uuid, i.acted_at, i.repairs, i.left_by_rule,
    i.id is not null and i.enrollment_number = d.enrollment_number as is_of_enrollment,
    c.status as command_status, coalesce(c.is_pending, false) as is_pending,
    coalesce(c.is_pending and c.sent_at is null, false) as is_unsent,
    c.sent_at is not null as is_sent, c.acknowledged_at,
    coalesce(c.reason, c.error_chain -> 0 ->> 'LocalizedDescription') as command_reason,
    coalesce(d.profiles_listed_at > coalesce(c.acknowledged_at, i.acted_at), false) as is_listed,
    l.payload_uuid as seen_uuid, l.id is not null as is_seen,
    coalesce(l.is_managed, l.id is not null) as is_seen_managed,
    coalesce(l.is_enrollment, false)
      or lower(coalesce(w.identifier, i.identifier)) = ${ENROLLMENT_IDENTIFIER} as is_enrollment,
    coalesce(w.version_id in (
      select profile_version_id from profile_payloads where payload_type = 'com.apple.mdm'), false)
      as would_enroll
  from item w
  full join current_item i on i.device_id = w.device_id and i.item_key = w.item_key
    and coalesce(i.device_user_id, 0) = coalesce(w.device_user_id, 0)
  cross join lateral (
    select d.id, d.enrollment_number,
      d.is_enrolled and u.is_enrolled is not false as is_enrolled,
      case when u.id is null then r.profiles_listed_at else u.profiles_listed_at end
        as profiles_listed_at,
      d.awaiting_configuration is true and d.enrollment_method is distinct from 'automated'
        as is_withheld,
      r.paused_at is not null or not :ignores_pause and exists (
        select from reconciler_state where paused_at is not null) as is_paused,
      exists (select from group_flaps f where f.device_id = d.id and f.until > now()) as is_flapping
    from devices d join device_reconciliations r on r.device_id = d.id
    left join device_users u on u.id = coalesce(w.device_user_id, i.device_user_id)
    where d.id = coalesce(w.device_id, i.device_id)
  ) d
  left join profiles h on h.id = coalesce(w.profile_id, i.profile_id)
  left join commands c on c.id = i.command_id
  left join lateral (
    select l.id, l.payload_uuid, l.is_managed, exists (
        select from installed_payloads y
        where y.installed_profile_id = l.id and y.payload_type = 'com.apple.mdm') as is_enrollment
    from installed_profiles l
    where l.device_id = d.id and coalesce(w.device_user_id, i.device_user_id) is null
      and lower(l.payload_identifier) = lower(coalesce(w.identifier, i.identifier))
    union all
    select l.id, l.payload_uuid, l.is_managed, false from user_profiles l
    where l.device_user_id = coalesce(w.device_user_id, i.device_user_id)
      and lower(l.payload_identifier) = lower(coalesce(w.identifier, i.identifier))
    order by is_managed desc nulls last limit 1
  ) l on true
)`;

/** What happens next with a wanted item; the order of the cases matters. */
const VERDICT_OF_WANTED = `
case
  when not is_enrolled then 'not_enrolled'
  when is_withheld then 'withheld'
  when lacks_user then 'no_user'
  when item_id is null or not is_of_enrollment then 'install'
  when action = 'remove' then case
    when is_unsent and lower(installed_uuid) = lower(uuid) then 'keep'
    else 'install' end
  when uuid is distinct from payload_uuid then case
    when lower(installed_uuid) = lower(uuid) and (action is null or is_unsent
      or command_status in ('Error', 'CommandFormatError')) then 'keep'
    else 'install' end
  when action = 'install' then case
    when is_pending then 'wait'
    when command_status = 'Acknowledged' then 'installed'
    when command_status is not null and attempts + 1 >= ${MAX_ATTEMPTS} then 'failed'
    when command_status is not null then 'try_later'
    else 'try_again' end
  when state in ('installed', 'verified') then case
    when not is_listed then 'wait'
    when lower(seen_uuid) = lower(uuid) then 'verified'
    when state = 'verified' then 'repair'
    when attempts + 1 >= ${MAX_ATTEMPTS} then 'not_listed'
    else 'try_later' end
  when state = 'failed' and reason_code <> 'not_removed' then 'wait'
  when state = 'pending' and next_attempt_at > now() then 'wait'
  when lower(installed_uuid) = lower(uuid)
    and state in ('paused', 'conflict', 'not_applicable', 'removing') then 'keep'
  else 'try_again'
end`;

/** What happens next with an item that is not wanted any more. */
const VERDICT_OF_UNWANTED = `
case
  when not is_enrolled or not is_of_enrollment or is_enrollment then 'forget'
  when action = 'remove' then case
    when is_pending then 'wait'
    when command_status = 'Acknowledged' then 'forget'
    when is_listed and not is_seen then 'forget'
    when command_status is not null and attempts + 1 >= ${MAX_ATTEMPTS} then 'not_removed'
    when command_status is not null then 'remove_later'
    else 'remove' end
  when action = 'install' and is_pending and is_sent then 'remove_waits'
  when is_listed and not is_seen then 'forget'
  when state = 'failed' and reason_code = 'not_removed' then 'wait'
  when installed_uuid is null and not is_seen_managed
    and not (is_sent and command_status in ('Acknowledged', 'Expired', 'Cancelled')) then 'forget'
  when state = 'removing' and next_attempt_at > now() then 'wait'
  else 'remove'
end`;

/**
 * Verdicts that send something. An unmanaged profile of the same identifier prevents an install, and so does
 * the enrollment: it is neither replaced nor made anew.
 */
const JUDGED = `
judged as (
  select *, case
    when verdict in ('install', 'try_again', 'repair')
      and (is_enrollment or would_enroll
        or is_seen and not is_seen_managed and installed_uuid is null)
      then 'conflict'
    when verdict in ('install', 'try_again', 'repair') and unfit is not null then 'unfit'
    when verdict = 'wait' and is_unsent and is_paused then 'paused'
    when verdict in ('install', 'try_again', 'repair', 'remove') and is_paused then 'paused'
    when verdict in ('install', 'try_again', 'repair') and missing is not null then 'no_value'
    when verdict in ('install', 'try_again', 'repair') and waits_for is not null
      then 'waits_for_item'
    else verdict end as due_step
  from (
    select *, case when is_wanted then (${VERDICT_OF_WANTED}) else (${VERDICT_OF_UNWANTED}) end
      as verdict
    from pair
  ) verdicts
)`;

/** Minutes until the next attempt: 5, 20. */
const RETRY_AT = `now() + interval '5 minutes' * power(4, attempts)`;
/** A profile that is removed by hand comes back at once, then after 15 minutes, an hour … a day. */
const REPAIR_AT = `case when repairs = 0 then null else
  now() + least(interval '1 day', interval '15 minutes' * power(4, least(repairs - 1, 6))) end`;

/** The columns of each step. What a step does not name stays as it is. */
const NEXT = `
next as (
  select *,
    case
      when step in ('install', 'try_again', 'try_later', 'repair', 'not_enrolled', 'no_value',
        'waits_for_item') then 'pending'
      when step in ('installed', 'keep') then 'installed'
      when step = 'verified' then 'verified'
      when step in ('failed', 'not_listed', 'not_removed') then 'failed'
      when step in ('remove', 'remove_later', 'remove_waits') then 'removing'
      when step in ('withheld', 'unfit') then 'not_applicable'
      when step = 'no_user' then 'waiting_for_user'
      when step in ('conflict', 'paused') then step
      when step = 'mass_removal' then 'paused'
    end as next_state,
    case step
      when 'not_enrolled' then 'device_not_enrolled'
      when 'withheld' then 'serial_not_proved'
      when 'no_user' then 'waiting_for_user'
      when 'unfit' then unfit
      when 'mass_removal' then 'mass_removal'
      when 'conflict' then case when is_enrollment or would_enroll then 'enrollment_profile'
        else 'unmanaged_profile' end
      when 'paused' then case when is_flapping then 'flapping' else 'paused' end
      when 'no_value' then 'variable_has_no_value'
      when 'waits_for_item' then 'waiting_for_item'
      when 'failed' then 'command_failed'
      when 'try_later' then case when action is null then 'not_listed' else 'command_failed' end
      when 'not_listed' then 'not_listed'
      when 'remove_later' then 'command_failed'
      when 'not_removed' then 'not_removed'
      when 'remove_waits' then 'install_under_way'
      when 'repair' then 'removed_by_hand'
    end as next_code,
    case step
      when 'not_enrolled' then 'the device is not enrolled; installed once it enrolls'
      when 'withheld' then 'the device awaits configuration but has not proved its serial number'
      when 'unfit' then unfit_reason
      when 'mass_removal' then 'kept: many devices lost it within an hour because of smart groups;'
        || ' correct the rule if they should have it, then POST /api/v1/profiles/' || held_profile_id || '/resume'
      when 'no_user' then 'no user of the device has signed in with management; installed for each that does'
      when 'conflict' then case
        when would_enroll then 'version ' || version || ' has a payload com.apple.mdm, which would'
          || ' replace the enrollment of the device; upload it without'
        when is_enrollment
        then 'the enrollment profile of the device is ' || identifier
          || '; upload the profile with another PayloadIdentifier'
        else 'the device has a profile ' || identifier
          || ' that Muster did not install; remove it there first' end
      when 'paused' then case when is_flapping
        then 'the device joins and leaves a smart group again and again; goes on when that ends'
        else 'paused; resume to go on' end
      when 'no_value' then 'no value for ' || array_to_string(missing, ', ')
        || '; installed once there is one'
      when 'waits_for_item' then 'waits until it is verified: ' || waits_for
      when 'try_later' then coalesce('command ' || command_id || ' is ' || command_status
        || coalesce(': ' || command_reason, ''), 'the device did not list the profile')
        || '; tried again'
      when 'failed' then 'command ' || command_id || ' is ' || command_status
        || coalesce(': ' || command_reason, '') || '; tried ${MAX_ATTEMPTS} times'
      when 'not_listed' then 'acknowledged ${MAX_ATTEMPTS} times, but the device did not list it'
      when 'remove_later' then 'command ' || command_id || ' is ' || command_status
        || coalesce(': ' || command_reason, '') || '; tried again'
      when 'not_removed' then 'command ' || command_id || ' is ' || command_status
        || coalesce(': ' || command_reason, '') || '; tried ${MAX_ATTEMPTS} times'
      when 'remove_waits' then 'removed once the device has answered the install under way'
      when 'repair' then case when is_seen then 'the device listed another version'
        else 'it was gone from the device' end || '; installed again'
    end as next_reason,
    case
      when step in ('install', 'try_again') then 'install'
      when step = 'repair' and repairs = 0 then 'install'
      when step = 'remove' then 'remove'
      when step = 'remove_waits' then 'install'
    end as next_action,
    case step
      when 'try_later' then ${RETRY_AT}
      when 'remove_later' then ${RETRY_AT}
      when 'repair' then ${REPAIR_AT}
    end as next_at,
    case
      when step in ('try_later', 'failed', 'not_listed', 'remove_later', 'not_removed')
        then attempts + 1
      when step in ('try_again', 'installed', 'remove_waits')
        or step = 'remove' and action = 'remove' then attempts
      when step = 'remove' and state = 'removing' then attempts
      else 0
    end as next_attempts
  from decided
  where step <> 'wait'
)`;

/**
 * `next` with the ids of the commands that are queued afterwards. A device gets its commands in their order:
 * removals first, then by priority.
 */
const NUMBERED = `
numbered as (
  select *, case when next_action is not null and step <> 'remove_waits'
      then nextval('commands_id_seq') end as next_command_id
  from (
    select * from next
    order by next_action is not distinct from 'remove' desc, coalesce(priority, held_priority) desc,
      coalesce(profile_id, held_profile_id)
  ) sorted
)`;

/**
 * Compares what is wanted of some devices with what there is, and writes the difference. Returns how many
 * items changed, the versions to install, and the devices and users whose profiles are to be listed. The
 * caller has locked the devices' rows of device_reconciliations, and queues the commands that items with an
 * action name but that don't exist yet, before the transaction ends.
 */
export const RECONCILE = `
with ${CURRENT}, ${WANTED}, ${ITEM}, ${PAIRS}, ${JUDGED}, ${MASS_REMOVALS}, ${NEXT}, ${NUMBERED}, ${CHANGES}, listable as (
  select device_id, device_user_id from next
  where step in ('installed', 'keep', 'remove_later', 'not_removed')
    or step = 'forget' and action = 'remove'
)
select
  (select count(*)::integer from inserted) + (select count(*)::integer from updated)
    + (select count(*)::integer from forgotten) as changed,
  array(select distinct version_id from next where next_action = 'install' and step <> 'remove_waits')
    as versions,
  exists (select from next where next_action = 'remove') as has_removals,
  array(select id from inserted where action is not null
    union all select id from updated where action is not null) as items,
  array(select distinct device_id from listable where device_user_id is null) as to_list,
  array(select distinct device_user_id from listable where device_user_id is not null)
    as users_to_list,
  ${BRAKED} as braked`;
