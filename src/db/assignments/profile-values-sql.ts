import type { Sql } from '../connection/statement-runner.js';

/** The value of each variable without a parameter, of the device `d`; empty is none. */
const valuesOf = (d: string): Record<string, string> => ({
  SERIAL: `${d}.serial_number`,
  UDID: `${d}.udid`,
  DEVICE_NAME: `${d}.device_name`,
  ASSET_TAG: `${d}.asset_tag`,
  USER_EMAIL: `${d}.managed_apple_account`,
  USER_NAME: `(
            select u.full_name from enrollment_users u
            where lower(u.account) = lower(${d}.managed_apple_account))`,
});

const CASES = Object.entries(valuesOf('d')).map(
  ([name, value]) => `
          when '${name}' then ${value}`,
);

/**
 * Lateral to a wanted item `w` and its version `v`: `payload_values` has the value of each variable that
 * the device has one for, `missing` the others. A secret counts by its id and version, never by its text.
 * Nothing is read for a version that is not rendered.
 */
export const PROFILE_VALUES = `lateral (
  select case when v.is_rendered then
      coalesce(jsonb_object_agg(f.name, f.value) filter (where f.value is not null), '{}') end
      as payload_values,
    array_agg('$' || f.name order by f.name) filter (where f.value is null) as missing
  from (
    select n.name, case
        when starts_with(n.name, 'SECRET_') then (
          select jsonb_build_array(s.id, s.version) from profile_secrets s
          where s.name = substring(n.name from 8))
        when starts_with(n.name, 'ATTRIBUTE_') then (
          select to_jsonb(a.value) from custom_attributes a
          where a.device_id = d.id and a.name = substring(n.name from 11))
        else to_jsonb(nullif(case n.name${CASES.join('')}
        end, '')) end as value
    from devices d cross join unnest(v.variables) as n (name)
    where v.is_rendered and d.id = w.device_id
  ) f
)`;

/** The PayloadUUID that follows from the version and the values `x` of PROFILE_VALUES. */
export const RENDERED_UUID = `upper(encode(substring(
  sha256(v.content_digest || convert_to(x.payload_values::text, 'UTF8')) for 16), 'hex')::uuid::text)`;

/** Whether the device `device` lacks a value of one of the variables, none of which is a secret of profiles. */
export function lacksValueSql(device: string, variables: readonly string[]): Sql {
  const values = valuesOf(device);
  const bindings: string[] = [];
  const lacks = variables.map((name) => {
    if (values[name] !== undefined) return `nullif(${values[name]}, '') is null`;
    bindings.push(name.replace(/^ATTRIBUTE_/, ''));
    return `not exists (
      select from custom_attributes a where a.device_id = ${device}.id and a.name = ?)`;
  });
  return { text: lacks.length === 0 ? 'false' : `(${lacks.join(' or ')})`, bindings };
}
