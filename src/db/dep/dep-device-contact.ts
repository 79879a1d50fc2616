import type { Knex } from 'knex';
import type { EnrollmentRequest } from '../enroll/enrollment-request-repository.js';

/** What an error begins with that the device's next success ends. */
const OF_ENROLLMENT = 'enrollment: ';

// The device waits: a row that somebody changes right now is passed over.
const CONTACT = `
update dep_devices set contacted_at = now(),
  last_error = case
    when cast(:fault as text) is not null then '${OF_ENROLLMENT}' || :fault
    when starts_with(last_error, '${OF_ENROLLMENT}') then null else last_error end,
  last_error_at = case
    when cast(:fault as text) is not null then now()
    when starts_with(last_error, '${OF_ENROLLMENT}') then null else last_error_at end
where id in (
  select id from dep_devices where serial_number = :serial and removed_at is null
  for no key update skip locked)`;

/**
 * As insertEnrollmentRequest, in one statement with the news that the device of this serial number has
 * come for its automated enrollment.
 */
export async function insertAutomatedRequest(
  knex: Knex,
  request: EnrollmentRequest & { serial_number: string },
): Promise<number> {
  const contacted = knex.raw(CONTACT, { serial: request.serial_number, fault: null });
  const [row] = await knex('enrollment_requests')
    .with('contacted', contacted)
    .insert(request)
    .returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('the enrollment request was not stored');
  return row.id;
}

/** Notes that the device came and was not let in, and why, in words for the admin. */
export async function noteRefusedDevice(
  knex: Knex,
  { serial, fault }: { serial: string; fault: string },
): Promise<void> {
  await knex.raw(CONTACT, { serial, fault });
}
