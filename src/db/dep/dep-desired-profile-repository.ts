import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** The account that a profile is of; null: none, or there is no such profile. */
export async function findAccountOfProfile(knex: Knex, id: number): Promise<number | null> {
  const row = await knex('dep_profiles')
    .where({ id })
    .first<{ dep_account_id: number | null } | undefined>('dep_account_id');
  return row?.dep_account_id ?? null;
}

/** A device that Apple lists, though not in the account in question. */
export interface DeviceOfOtherAccount {
  id: number;
  serial: string;
  accountId: number;
  accountName: string | null;
}

const IN_OTHER_ACCOUNTS = `
select d.id, d.serial_number as serial, other.id as "accountId",
  coalesce(other.server_name, other.org_name) as "accountName"
from devices d
cross join lateral (
  select a.id, a.server_name, a.org_name
  from dep_devices x join dep_accounts a on a.id = x.dep_account_id
  where x.serial_number = d.serial_number and x.dep_account_id <> :account
    and x.removed_at is null and x.listed_at is not null
  order by x.id desc limit 1
) other
where d.id = any(:ids::bigint[]) and not exists (
  select from dep_devices own
  where own.serial_number = d.serial_number and own.dep_account_id = :account
    and own.removed_at is null and own.listed_at is not null)
order by d.id`;

/** Those of the devices that Apple lists in other accounts alone. One statement. */
export async function findDevicesOfOtherAccounts(
  knex: Knex,
  { accountId, deviceIds }: { accountId: number; deviceIds: readonly number[] },
): Promise<DeviceOfOtherAccount[]> {
  const bindings = { account: accountId, ids: [...deviceIds] };
  return (await knex.raw<{ rows: DeviceOfOtherAccount[] }>(IN_OTHER_ACCOUNTS, bindings)).rows;
}

/** A device that Apple has taken from the account, or that was disowned. */
export interface RemovedDevice {
  id: number;
  serial: string;
}

const REMOVED = `
select d.id, d.serial_number as serial
from devices d
join dep_devices x on x.serial_number = d.serial_number and x.dep_account_id = :account
where d.id = any(:ids::bigint[]) and (x.removed_at is not null
  or x.disown_result = 'SUCCESS' and x.disowned_at >= coalesce(x.told_at, '-infinity'))
order by d.id`;

/** Those of the devices that the account has no longer. One statement. */
export async function findRemovedDevices(
  knex: Knex,
  { accountId, deviceIds }: { accountId: number; deviceIds: readonly number[] },
): Promise<RemovedDevice[]> {
  const bindings = { account: accountId, ids: [...deviceIds] };
  return (await knex.raw<{ rows: RemovedDevice[] }>(REMOVED, bindings)).rows;
}

const PROFILE_FAILURE = `
select dep_profile_fault(p) as fault from dep_profiles p where p.id = ?`;

/** What keeps the profile from Apple, in words; null: nothing that Apple has said. */
export async function findProfileFailure(knex: Knex, profileId: number): Promise<string | null> {
  const { rows } = await knex.raw<{ rows: { fault: string | null }[] }>(PROFILE_FAILURE, [
    profileId,
  ]);
  return rows[0]?.fault ?? null;
}

/** Which devices are to have which profile of the enrollment program. */
export interface DesiredProfile {
  profileId: number;
  deviceIds: readonly number[];
}

// In the order of ids, as everyone who locks many of them does.
const ASSIGN = `
update devices set dep_profile_id = :profileId where id in (
  select id from devices
  where id = any(:ids::bigint[]) and dep_profile_id is distinct from :profileId
  order by id for no key update)`;

/** A trigger makes it due to tell Apple. One statement. */
export async function assignProfileTo(
  trx: Transaction,
  { profileId, deviceIds }: DesiredProfile,
): Promise<void> {
  await trx.raw(ASSIGN, { profileId, ids: [...deviceIds] });
}

const UNASSIGN = `
update devices set dep_profile_id = null where id in (
  select id from devices where id = any(:ids::bigint[]) and dep_profile_id = :profileId
  order by id for no key update)`;

/** From those that have it; none of them gets a default one afterwards. One statement. */
export async function unassignProfileFrom(
  trx: Transaction,
  { profileId, deviceIds }: DesiredProfile,
): Promise<void> {
  await trx.raw(UNASSIGN, { profileId, ids: [...deviceIds] });
}
