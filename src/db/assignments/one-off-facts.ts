import type { Sql } from '../connection/statement-runner.js';
import type { Transaction } from '../connection/unit-of-work.js';
import type { OneOffPlan } from './one-off.js';
import { lacksValueSql } from './profile-values-sql.js';
import { VERSION_OF_DEVICE } from './rollout-sql.js';

/** What has to be known of a profile before its targets are counted. */
export interface OneOffProfile {
  identifier: string;
  /** An open rollout: its devices get different versions. */
  is_rolling_out: boolean;
  /** An assignment includes it. */
  may_be_assigned: boolean;
  /** This and `variables` are of the versions that a device may get; `variables` has no secrets. */
  may_be_for_users: boolean;
  variables: string[];
}

const PROFILE = `
select p.identifier, r.id is not null as is_rolling_out,
  exists (
    select from assignments a join profiles o on o.id = a.profile_id
    where lower(o.identifier) = lower(p.identifier) and a.mode = 'include') as may_be_assigned,
  f.may_be_for_users, f.variables
from profiles p
left join rollouts r on r.profile_id = p.id and r.state in ('running', 'halted')
cross join lateral (
  select coalesce(bool_or(v.is_for_user), false) as may_be_for_users,
    coalesce(array_agg(distinct n) filter (where v.is_rendered and not starts_with(n, 'SECRET_')), '{}')
      as variables
  from profile_versions v left join unnest(v.variables) n on true
  where v.profile_id = p.id
    and v.number in (coalesce(p.active_version, p.current_version), r.version, r.former_version)
) f
where p.id = ?`;

export async function findOneOffProfile(
  trx: Transaction,
  profileId: number,
): Promise<OneOffProfile | undefined> {
  const { rows } = await trx.raw<{ rows: OneOffProfile[] }>(PROFILE, [profileId]);
  return rows[0];
}

const VERSION = `(
  select ${VERSION_OF_DEVICE} from (select t0.id as device_id) w cross join profiles p
  left join rollouts r on r.profile_id = p.id and r.state in ('running', 'halted')
  where p.id = ?::bigint)`;
const HAS_USER = 'exists (select from device_users u where u.device_id = t0.id and u.is_enrolled)';
const ENROLLED_BY_IT = `exists (
  select from installed_profiles l join installed_payloads y on y.installed_profile_id = l.id
  where l.device_id = t0.id and lower(l.payload_identifier) = lower(?)
    and y.payload_type = 'com.apple.mdm')`;

/**
 * A text of `devices as t0`: with the facts of commands, devices of the same text have the same target, but for
 * its values.
 */
export function oneOffFactSql(
  { identifier, variables, ...profile }: OneOffProfile,
  { profileId, assigned }: Pick<OneOffPlan, 'profileId' | 'assigned'>,
): Sql {
  const parts: Sql[] = [
    { text: 't0.is_enrolled', bindings: [] },
    { text: 't0.awaiting_configuration', bindings: [] },
    { text: 't0.user_approved_enrollment', bindings: [] },
    { text: ENROLLED_BY_IT, bindings: [identifier] },
    ...(profile.may_be_for_users ? [{ text: HAS_USER, bindings: [] }] : []),
    ...(profile.is_rolling_out ? [{ text: VERSION, bindings: [profileId] }] : []),
    ...(assigned.length > 0
      ? [{ text: 't0.id = any(?::bigint[])', bindings: [[...assigned]] }]
      : []),
    ...variables.map((name) => lacksValueSql('t0', [name])),
  ];
  return {
    text: `concat_ws(' ', ${parts.map(({ text }) => `coalesce((${text})::text, '-')`).join(', ')})`,
    bindings: parts.flatMap(({ bindings }) => bindings),
  };
}
