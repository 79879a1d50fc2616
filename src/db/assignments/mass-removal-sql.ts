/**
 * A removal begins, also of an install that is being sent. A removal that waited until the device stopped flapping, or
 * until a pause ended, has the same cause.
 */
const LOSES = `due_step in ('remove', 'remove_waits') and state <> 'removing'`;
const LOSES_BY_RULE = `${LOSES} and (reason_code is not distinct from 'flapping' or left_by_rule
    or device_id in (select device_id from leaving))`;

/** States of items whose device does not have the profile and will not get it next. */
export const LACKING = `('removing', 'not_applicable', 'waiting_for_user', 'conflict')`;

/**
 * After `judged`: which profiles too many devices lose within an hour because of smart groups, and
 * the next step of each item if its removal is held back. Fewer than `:most_removals` devices,
 * or a tenth of those that have it, may lose it; a slice that exceeds both is held back as a whole.
 * A mark with `left_by_rule` counts from its commit on, even if the slice claimed another mark of the device.
 */
export const MASS_REMOVALS = `
leaving as (
  select unnest(:left::bigint[]) as device_id
  union
  select device_id from reconcile_marks where left_by_rule and device_id = any(:devices::bigint[])
), loss as (
  select held_profile_id as profile_id, count(distinct device_id) as devices
  from judged
  where not is_held and ${LOSES_BY_RULE}
  group by held_profile_id
), lost as (
  select l.profile_id, l.devices, (
    select count(distinct x.device_id) from item_losses x
    where x.profile_id = l.profile_id and x.lost_at > now() - interval '1 hour') as earlier
  from loss l
), braked as (
  select l.profile_id, (l.devices + l.earlier)::integer as devices from lost l
  where l.devices + l.earlier >= :most_removals and 10 * (l.devices + l.earlier) > l.earlier + (
    select count(*) from (
      select distinct i.device_id from device_items i
      where i.profile_id = l.profile_id and i.state not in ${LACKING}
      limit 10 * (l.devices + l.earlier) + 1) holders)
), decided as (
  select j.*, case
      when ${LOSES} and (j.is_held or b.profile_id is not null and ${LOSES_BY_RULE})
        then 'mass_removal'
      else j.due_step end as step
  from judged j left join braked b on b.profile_id = j.held_profile_id
), counted as (
  insert into item_losses (profile_id, device_id)
  select distinct held_profile_id, device_id from decided
  where step <> 'mass_removal' and ${LOSES_BY_RULE}
), held_back as (
  update profiles p set removals_paused_at = now()
  from braked b where p.id = b.profile_id and p.removals_paused_at is null
)`;

/** The braked profiles, as JSON. */
export const BRAKED = `coalesce((
  select jsonb_agg(jsonb_build_object('profileId', profile_id, 'devices', devices)) from braked), '[]')`;
