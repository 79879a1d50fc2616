import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** SQL, of `dep_devices.last_error`: the error is not about the device's profile. */
export const IS_OTHER_FAILURE = "last_error ~ '^(enrollment|disown|activation lock): '";

// Looks up rows device by device, whatever number of devices the planner expects for a profile.
const SET_ERRORS = `
with failed as materialized (
  select p.id, dep_profile_fault(p) as failure from dep_profiles p
  where p.dep_account_id = :accountId and p.status = 'failed'
), outdated as materialized (
  select x.id, failed.failure
  from failed join devices d on d.dep_profile_id = failed.id
  cross join lateral (
    select id, last_error from dep_devices x
    where x.device_id = d.id and x.dep_account_id = :accountId and x.removed_at is null
    offset 0
  ) x
  where x.last_error is distinct from failed.failure
), changed as (
  select r.id, outdated.failure from outdated join dep_devices r on r.id = outdated.id
  order by r.id for update of r
)
update dep_devices r set last_error = changed.failure, last_error_at = now()
from changed where r.id = changed.id`;

// A pending profile keeps its error until Apple has accepted it.
const CLEAR_ERRORS = `
with cleared as (
  select r.id
  from dep_devices r
  left join devices d on d.id = r.device_id
  left join dep_profiles p on p.id = d.dep_profile_id and p.dep_account_id = r.dep_account_id
  where r.dep_account_id = :accountId and starts_with(r.last_error, 'profile ''')
    and coalesce(p.status, 'none') not in ('failed', 'pending')
  order by r.id for update of r
)
update dep_devices r set last_error = null, last_error_at = null
from cleared where r.id = cleared.id`;

/**
 * Sets `last_error` of the account's devices whose wanted profile Apple refuses, and clears it for
 * the others.
 */
export async function updateProfileErrors(trx: Transaction, accountId: number): Promise<void> {
  await trx.raw(SET_ERRORS, { accountId });
  await trx.raw(CLEAR_ERRORS, { accountId });
}

/** null if the profile was deleted. */
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
 * Makes a profile pending whose definition Apple does not know. Returns false if the profile was
 * changed meanwhile, or defined in the last ten minutes: Apple may need time to know it.
 */
export async function forgetDefinition(
  trx: Transaction,
  definition: { profileId: number; uuid: string; text: string },
): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(FORGET, definition);
  return rows.length > 0;
}
