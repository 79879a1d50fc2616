import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** SQL, of `dep_devices.last_error`: it is about something else than the device's profile. */
export const IS_OTHER_FAILURE = "last_error ~ '^(enrollment|disown|activation lock): '";

// Rows by their devices, one by one, whatever the planner thinks of how many have the profile.
const SET_ERRORS = `
with failed as materialized (
  select p.id, dep_profile_fault(p) as fault from dep_profiles p
  where p.dep_account_id = :accountId and p.status = 'failed'
), wanting as materialized (
  select x.id, failed.fault
  from failed join devices d on d.dep_profile_id = failed.id
  cross join lateral (
    select id, last_error from dep_devices x
    where x.device_id = d.id and x.dep_account_id = :accountId and x.removed_at is null
    offset 0
  ) x
  where x.last_error is distinct from failed.fault
), told as (
  select r.id, wanting.fault from wanting join dep_devices r on r.id = wanting.id
  order by r.id for update of r
)
update dep_devices r set last_error = told.fault, last_error_at = now()
from told where r.id = told.id`;

// One that waits for Apple is no better until Apple has taken it.
const CLEAR_ERRORS = `
with ended as (
  select r.id
  from dep_devices r
  left join devices d on d.id = r.device_id
  left join dep_profiles p on p.id = d.dep_profile_id and p.dep_account_id = r.dep_account_id
  where r.dep_account_id = :accountId and starts_with(r.last_error, 'profile ''')
    and coalesce(p.status, 'none') not in ('failed', 'pending')
  order by r.id for update of r
)
update dep_devices r set last_error = null, last_error_at = null
from ended where r.id = ended.id`;

/**
 * Has the devices of the account that are to have a profile which Apple refuses show that, and the
 * others no longer.
 */
export async function updateProfileErrors(trx: Transaction, accountId: number): Promise<void> {
  await trx.raw(SET_ERRORS, { accountId });
  await trx.raw(CLEAR_ERRORS, { accountId });
}

/** Null where it is gone. */
export async function findProfileName(knex: Knex, id: number): Promise<string | null> {
  const row = await knex('dep_profiles').where({ id }).first<{ name: string } | undefined>({
    name: 'profile_name',
  });
  return row?.name ?? null;
}

const FORGET = `
update dep_profiles set uuid = null, definition_digest = null, status = 'pending',
  status_text = :text, status_advice = null, status_at = now()
where id = :profileId and uuid = cast(:uuid as uuid)
  and coalesce(last_upload_at < now() - interval '10 minutes', true)
returning id`;

/**
 * For a definition that Apple does not know: the profile has to be defined anew. False where it was
 * changed meanwhile, or defined just now, so that Apple may need time.
 */
export async function forgetDefinition(
  trx: Transaction,
  definition: { profileId: number; uuid: string; text: string },
): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(FORGET, definition);
  return rows.length > 0;
}
