/**
 * The numbers of a version, with the text behind it; null of one that has other parts. Takes a tenth of
 * version_key's time.
 */
function numbers(version: string, end = ''): string {
  const text = end === '' ? version : `${version} || '${end}'`;
  return `(case when ${version} ~ '^[0-9]{1,9}([.][0-9]{1,9})*$'
    then string_to_array(${text}, '.')::integer[] end)`;
}

/** Zeros behind the version of a device: 18 is not older than 18.0. */
const ZEROS = '.0.0.0';

/**
 * Lateral to a wanted item `w` and its version `v`: why the device of `w` can't have it by what Apple's
 * schema says of the payloads, as a code and in words; both null when it can, or when the device has not
 * reported what decides.
 */
export const UNFIT = `lateral (
  select case f.rule
      when 1 then 'wrong_platform' when 2 then 'os_too_old' when 3 then 'not_supervised'
      when 4 then 'not_user_approved'
    end as unfit,
    case f.rule
      when 1 then 'no payload of the profile is for ' || f.platform
      when 2 then 'needs ' || f.platform || ' ' || f.first || '; the device has ' || f.os_version
      when 3 then 'a payload of the profile needs supervision; the device is not supervised'
      when 4 then 'a payload of the profile needs an enrollment that the user of the Mac has approved'
    end as unfit_reason
  from (
    select d.platform, d.os_version, regexp_replace(s.need ->> 'from', '([.]0)+$', '') as first, case
        when s.need is null and d.platform is not null then 1
        when ${numbers('d.os_version', ZEROS)} < ${numbers(`(s.need ->> 'from')`)} then 2
        when d.is_supervised is false and (s.need -> 'is_supervised')::boolean then 3
        when d.user_approved_enrollment is false and (s.need -> 'is_user_approved')::boolean then 4
      end as rule
    from devices d cross join lateral (select v.platforms -> d.platform as need offset 0) s
    where v.platforms is not null and d.id = w.device_id
  ) f
)`;
