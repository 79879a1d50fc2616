import type { Knex } from 'knex';
import { UNFIT } from './applicability-sql.js';

/** An assignment that does not exist yet; one of the targets, or all devices. */
export interface AssignmentDraft {
  tag_id?: number | undefined;
  device_group_id?: number | undefined;
  device_id?: number | undefined;
  all_devices: boolean;
  mode: 'include' | 'exclude';
}

/** A change of who should have a profile. */
export interface AssignmentChange {
  profileId: number;
  draft?: AssignmentDraft | undefined;
  /** An assignment to be deleted. */
  removed?: number | undefined;
}

export interface AssignmentPreview {
  gain: number;
  lose: number;
  /** Devices among `gain` that can't have it now, by reason. */
  not_enrolled: number;
  serial_not_proved: number;
  unmanaged_profile: number;
  wrong_platform: number;
  os_too_old: number;
  not_supervised: number;
  not_user_approved: number;
  /** The first ten. */
  gaining: number[];
  losing: number[];
}

const PREVIEW = `
with rule as (
  select tag_id, device_group_id, device_id, all_devices, mode, true as is_before,
    id is distinct from :removed::bigint as is_after
  from assignments where profile_id = :profile
  union all
  select :tag::bigint, :group::bigint, :device::bigint, :all::boolean, :mode::text, false, true
  where :has_draft::boolean
), hit as (
  select t.device_id, r.mode, r.is_before, r.is_after
  from rule r join device_tags t on t.tag_id = r.tag_id
  union all
  select g.device_id, r.mode, r.is_before, r.is_after
  from rule r join device_group_devices g on g.device_group_id = r.device_group_id
  union all
  select r.device_id, r.mode, r.is_before, r.is_after from rule r where r.device_id is not null
  union all
  select d.id, r.mode, r.is_before, r.is_after from rule r cross join devices d where r.all_devices
), wanted as (
  select device_id,
    bool_or(mode = 'include' and is_before) and not bool_or(mode = 'exclude' and is_before) as before,
    bool_or(mode = 'include' and is_after) and not bool_or(mode = 'exclude' and is_after) as after
  from hit group by device_id
), change as (
  select w.device_id, w.after as gains, d.is_enrolled is true as is_enrolled,
    d.awaiting_configuration is true and d.enrollment_method is distinct from 'automated'
      as is_unproved,
    exists (
      select from installed_profiles l join profiles p on p.id = :profile
      where l.device_id = w.device_id and l.is_managed is false
        and lower(l.payload_identifier) = lower(p.identifier)) as is_unmanaged,
    case when d.is_enrolled then f.unfit end as unfit
  from wanted w join devices d on d.id = w.device_id
  join profiles p on p.id = :profile
  join profile_versions v on v.profile_id = p.id
    and v.number = coalesce(p.active_version, p.current_version)
  left join ${UNFIT} f on true
  where w.before <> w.after
)
select count(*) filter (where gains)::integer as gain,
  count(*) filter (where not gains)::integer as lose,
  count(*) filter (where gains and not is_enrolled)::integer as not_enrolled,
  count(*) filter (where gains and is_enrolled and is_unproved)::integer as serial_not_proved,
  count(*) filter (where gains and is_enrolled and is_unmanaged)::integer as unmanaged_profile,
  count(*) filter (where gains and unfit = 'wrong_platform')::integer as wrong_platform,
  count(*) filter (where gains and unfit = 'os_too_old')::integer as os_too_old,
  count(*) filter (where gains and unfit = 'not_supervised')::integer as not_supervised,
  count(*) filter (where gains and unfit = 'not_user_approved')::integer as not_user_approved,
  coalesce((array_agg(device_id order by device_id) filter (where gains))[1:10], '{}') as gaining,
  coalesce((array_agg(device_id order by device_id) filter (where not gains))[1:10], '{}') as losing
from change`;

/** Who would gain or lose the profile, counted over all devices. Nothing is changed. */
export async function previewChange(
  knex: Knex,
  { profileId, draft, removed }: AssignmentChange,
): Promise<AssignmentPreview> {
  const { rows } = await knex.raw<{ rows: AssignmentPreview[] }>(PREVIEW, {
    profile: profileId,
    removed: removed ?? null,
    has_draft: draft !== undefined,
    tag: draft?.tag_id ?? null,
    group: draft?.device_group_id ?? null,
    device: draft?.device_id ?? null,
    all: draft?.all_devices ?? false,
    mode: draft?.mode ?? 'include',
  });
  const [row] = rows;
  if (row === undefined) throw new Error('the preview returned no row');
  return row;
}

/** The profile of an assignment; undefined for an unknown one. */
export async function profileOfAssignment(knex: Knex, id: number): Promise<number | undefined> {
  const row = await knex('assignments').where({ id }).first('profile_id');
  return row?.profile_id;
}

/** Whether there is a row of that id. */
export async function exists(
  knex: Knex,
  table: 'profiles' | 'tags' | 'device_groups' | 'devices',
  id: number,
): Promise<boolean> {
  return (await knex(table).where({ id }).first('id')) !== undefined;
}
