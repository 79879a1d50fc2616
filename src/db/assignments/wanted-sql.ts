import { UNFIT } from './applicability-sql.js';
import { PROFILE_VALUES, RENDERED_UUID } from './profile-values-sql.js';
import { WAITS_FOR } from './requirements.js';
import { VERSION_OF_DEVICE } from './rollout-sql.js';

/** What assignments want of the devices `:devices`; with `:item_key` only whether they want that item. */
export const WANTED = `
hit as (
  select t.device_id, a.id, a.profile_id, a.mode, a.priority
  from device_tags t join assignments a on a.tag_id = t.tag_id
  where t.device_id = any(:devices::bigint[])
  union all
  select g.device_id, a.id, a.profile_id, a.mode, a.priority
  from device_group_devices g join assignments a on a.device_group_id = g.device_group_id
  where g.device_id = any(:devices::bigint[])
  union all
  select a.device_id, a.id, a.profile_id, a.mode, a.priority
  from assignments a where a.device_id = any(:devices::bigint[])
  union all
  select d.id, a.id, a.profile_id, a.mode, a.priority
  from device d cross join assignments a where a.all_devices
), wanted as (
  select device_id, profile_id,
    max(priority) filter (where mode = 'include') as priority,
    min(id) filter (where mode = 'include') as assignment_id,
    array_agg(id) filter (where mode = 'include') as assignment_ids
  from hit
  where :item_key::text is null or profile_id in (
    select id from profiles where lower(identifier) = substring(:item_key::text from 9))
  group by device_id, profile_id
  having bool_or(mode = 'include') and not bool_or(mode = 'exclude')
)`;

/**
 * What of each `wanted` profile a device is to have: one row for each device, item and, for a version of
 * PayloadScope User, user of the device; without users one that waits for them.
 */
export const ITEM = `
item as (
  select w.device_id, 'profile:' || lower(p.identifier) as item_key, p.identifier, w.profile_id,
    w.priority, w.assignment_id, v.id as version_id, v.number as version,
    x.payload_values, x.missing, q.waits_for, u.id as device_user_id,
    o.id is not null and u.id is null as lacks_user, f.unfit, f.unfit_reason,
    case when v.is_signed then v.uuid
      when v.is_rendered then ${RENDERED_UUID}
      else upper(encode(substring(v.content_digest for 16), 'hex')::uuid::text) end as uuid
  from wanted w
  join profiles p on p.id = w.profile_id
  left join rollouts r on r.profile_id = p.id and r.state in ('running', 'halted')
  join profile_versions v on v.profile_id = p.id and v.number = ${VERSION_OF_DEVICE}
  left join devices o on v.is_for_user and o.id = w.device_id
    and (o.platform = 'macOS' or o.is_multi_user)
  left join device_users u on u.device_id = o.id and u.is_enrolled
  cross join ${PROFILE_VALUES} x
  cross join ${WAITS_FOR} q
  left join ${UNFIT} f on true
)`;
