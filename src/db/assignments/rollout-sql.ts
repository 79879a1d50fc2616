/** Whether the item `i` has, or is being sent, the version of the rollout `r`; `c` is its command. */
const HOLDS = `
(i.installed_version = r.version or i.version = r.version and i.action = 'install'
  and c.sent_at is not null and (c.is_pending or c.status = 'Acknowledged'))`;

/**
 * The version of the profile `p` that the device of `w` gets, where `r` is the rollout that is running or
 * halted. What has the new version keeps it until a rollback.
 */
export const VERSION_OF_DEVICE = `
case
  when r.id is null then coalesce(p.active_version, p.current_version)
  when r.state = 'running' and (rollout_position(w.device_id, p.id) < r.threshold or exists (
    select from device_tags t where t.device_id = w.device_id and t.tag_id = r.first_tag_id))
    then r.version
  when exists (
    select from device_items i join devices d on d.id = i.device_id
    left join commands c on c.id = i.command_id
    where i.device_id = w.device_id and i.item_key = 'profile:' || lower(p.identifier)
      and i.enrollment_number = d.enrollment_number and ${HOLDS})
    then r.version
  else r.former_version end`;

/**
 * What has come of a stage: of its devices, and of those that it added to the stage before it. An item
 * counts as failed from its first failed attempt until the device has listed it; a command that was
 * cancelled is not a failure.
 */
export const MEASURE = `
with item as (
  select i.version, i.state, i.reason, i.command_id,
    rollout_position(i.device_id, i.profile_id) < :threshold or t.device_id is not null as is_in_stage,
    :stage = 1 or rollout_position(i.device_id, i.profile_id) >= :former_threshold
      and t.device_id is null as is_added,
    i.version = :version and i.state <> 'verified' and (i.state = 'failed' or i.attempts > 0)
      and i.changed_at >= :counted_from as is_failing
  from device_items i
  left join device_tags t on t.device_id = i.device_id and t.tag_id = :first_tag
  where i.profile_id = :profile and i.state <> 'removing'
    and i.reason_code is distinct from 'device_not_enrolled'
), failed as (
  select coalesce(c.reason, c.error_chain -> 0 ->> 'LocalizedDescription', i.reason) as error
  from item i left join commands c on c.id = i.command_id
  where i.is_failing and c.status is distinct from 'Cancelled'
)
select count(*) filter (where is_in_stage)::integer as devices,
  count(*) filter (where version = :version and state = 'verified')::integer as verified,
  (select count(*) from failed)::integer as failed,
  ((select count(*) from failed) + count(*) filter (where not is_failing and version = :version
    and state in ('installed', 'verified')))::integer as attempted,
  count(*) filter (where is_in_stage and is_added)::integer as added,
  count(*) filter (where is_in_stage and is_added and version = :version
    and state = 'verified')::integer as added_verified,
  (select error from failed group by error order by count(*) desc, error limit 1)
    as commonest_error,
  exists (select from reconcile_item_marks where profile_id = :profile) as is_behind,
  exists (select from profiles where id = :profile and paused_at is not null)
    or exists (select from reconciler_state where paused_at is not null) as is_paused
from item`;

/**
 * Commands that would bring the version to a device and were not sent yet. One that another transaction has
 * locked is left: it is being sent, or the reconciler cancels it.
 */
export const CANCEL_UNSENT = `
with unsent as (
  select c.id, i.device_id from device_items i join commands c on c.id = i.command_id
  where i.profile_id = :profile and i.device_id > :cursor
    and i.version = :version and i.action = 'install'
    and i.installed_version is distinct from i.version
    and c.is_pending and c.sent_at is null
  order by i.device_id limit :limit for update of c skip locked
)
update commands c set status = 'Cancelled', ended_at = now(), reason = :reason
from unsent where c.id = unsent.id
returning unsent.device_id`;

/** Items on which the version has failed are tried again at once. */
export const RETRY_FAILED = `
update device_items set state = 'pending', reason_code = null, reason = null, attempts = 0,
  next_attempt_at = null, changed_at = now()
where profile_id = :profile and version = :version and action is null
  and (state = 'failed' or state = 'pending' and attempts > 0)`;
