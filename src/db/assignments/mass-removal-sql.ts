/**
 * After `judged`: which profiles too many devices lose because they left smart groups, within an hour, and
 * what happens next with each item when their removals are held back. `:most_removals` devices, or more
 * than a tenth of those that have it, may lose it; the slice that goes beyond both is held back as a whole.
 */
export const MASS_REMOVALS = `
loss as (
  select held_profile_id as profile_id, count(distinct device_id) as devices
  from judged
  where due_step = 'remove' and has_left_by_rule and not is_held and state in ('installed', 'verified')
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
      select from device_items i where i.profile_id = l.profile_id and i.state <> 'removing'
      limit 10 * (l.devices + l.earlier) + 1) holders)
), decided as (
  select j.*, case
      when j.due_step = 'remove' and j.state <> 'removing'
        and (j.is_held or b.profile_id is not null and j.has_left_by_rule) then 'mass_removal'
      else j.due_step end as step
  from judged j left join braked b on b.profile_id = j.held_profile_id
), counted as (
  insert into item_losses (profile_id, device_id)
  select distinct held_profile_id, device_id from decided
  where step = 'remove' and has_left_by_rule and state in ('installed', 'verified')
), held_back as (
  update profiles p set removals_paused_at = now()
  from braked b where p.id = b.profile_id and p.removals_paused_at is null
)`;

/** The braked profiles, as JSON. */
export const BRAKED = `coalesce((
  select jsonb_agg(jsonb_build_object('profileId', profile_id, 'devices', devices)) from braked), '[]')`;
