import type { Knex } from 'knex';
import type { EnrollmentRequest } from '../enroll/enrollment-request-repository.js';

/** What is known of a serial number from DEP. */
export interface DepDevice {
  /** Whether Apple lists it in an account, or an admin set `is_dep`. */
  is_known: boolean;
  /** Whether any DEP account exists. */
  has_accounts: boolean;
  minimum_ios_version: string | null;
  minimum_macos_version: string | null;
}

const FIND = `
with device as (
  select d.dep_profile_id, d.profile_uuid from devices d
  where d.serial_number = :serial and d.is_dep
  order by d.dep_profile_id is null, d.id
  limit 1
), listed as (
  select x.profile_uuid from dep_devices x
  where x.serial_number = :serial and x.removed_at is null and x.listed_at is not null
  order by x.profile_uuid is null, x.told_at desc nulls last
  limit 1
), only_default as (
  select min(a.default_dep_profile_id) as id from dep_accounts a
  where a.default_dep_profile_id is not null
  having count(distinct a.default_dep_profile_id) = 1
), only_profile as (
  select min(p.id) as id from dep_profiles p having count(*) = 1
), chosen as (
  select coalesce(
    (select dep_profile_id from device),
    (select f.dep_profile_id from dep_profile_definitions f join listed
      on lower(listed.profile_uuid) = f.uuid::text),
    (select p.id from dep_profiles p join device on lower(device.profile_uuid) = p.uuid::text
      order by p.id limit 1),
    (select id from only_default),
    (select id from only_profile)) as id
)
select exists (select from device) or exists (select from listed) as is_known,
  exists (select from dep_accounts) as has_accounts,
  p.minimum_ios_version, p.minimum_macos_version
from chosen left join dep_profiles p on p.id = chosen.id`;

/**
 * The device of a serial number with the minimum versions of its profile: the wanted profile, else
 * the one assigned at Apple, else the only default of all accounts, else the only profile.
 */
export async function findDepDevice(knex: Knex, serial: string): Promise<DepDevice> {
  const { rows } = await knex.raw<{ rows: DepDevice[] }>(FIND, { serial });
  if (rows[0] === undefined) throw new Error('the statement always returns a row');
  return rows[0];
}

/** Prefix of `last_error`, by which the device's next success clears it. */
const OF_ENROLLMENT = 'enrollment: ';

// The device waits for its answer, so rows locked by others are skipped.
const CONTACT = `
update dep_devices set contacted_at = now(),
  last_error = case
    when cast(:failure as text) is not null then '${OF_ENROLLMENT}' || :failure
    when starts_with(last_error, '${OF_ENROLLMENT}') then null else last_error end,
  last_error_at = case
    when cast(:failure as text) is not null then now()
    when starts_with(last_error, '${OF_ENROLLMENT}') then null else last_error_at end
where id in (
  select id from dep_devices where serial_number = :serial and removed_at is null
  for no key update skip locked)`;

/** Like insertEnrollmentRequest; the same statement sets `contacted_at` of the serial number. */
export async function insertAutomatedRequest(
  knex: Knex,
  request: EnrollmentRequest & { serial_number: string },
): Promise<number> {
  const contacted = knex.raw(CONTACT, { serial: request.serial_number, failure: null });
  const [row] = await knex('enrollment_requests')
    .with('contacted', contacted)
    .insert(request)
    .returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('the enrollment request was not stored');
  return row.id;
}

/** Records that the device asked to enroll and was refused, and why, for the admin. */
export async function storeRefusedContact(
  knex: Knex,
  { serial, failure }: { serial: string; failure: string },
): Promise<void> {
  await knex.raw(CONTACT, { serial, failure });
}
