import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** The account of a profile; null if it has none, or if the profile is unknown. */
export async function findAccountOfProfile(knex: Knex, id: number): Promise<number | null> {
  const row = await knex('dep_profiles')
    .where({ id })
    .first<{ dep_account_id: number | null } | undefined>('dep_account_id');
  return row?.dep_account_id ?? null;
}

/** A device that Apple lists only in another account. */
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

/** Devices of `deviceIds` that Apple lists in other accounts only. */
export async function findDevicesOfOtherAccounts(
  knex: Knex,
  { accountId, deviceIds }: { accountId: number; deviceIds: readonly number[] },
): Promise<DeviceOfOtherAccount[]> {
  const bindings = { account: accountId, ids: [...deviceIds] };
  return (await knex.raw<{ rows: DeviceOfOtherAccount[] }>(IN_OTHER_ACCOUNTS, bindings)).rows;
}

/** A device that Apple removed from the account, or that was disowned. */
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

/** Devices of `deviceIds` that were removed from the account. */
export async function findRemovedDevices(
  knex: Knex,
  { accountId, deviceIds }: { accountId: number; deviceIds: readonly number[] },
): Promise<RemovedDevice[]> {
  const bindings = { account: accountId, ids: [...deviceIds] };
  return (await knex.raw<{ rows: RemovedDevice[] }>(REMOVED, bindings)).rows;
}

const PROFILE_FAILURE = `
select dep_profile_fault(p) as failure from dep_profiles p where p.id = ?`;

/** Why the profile is not at Apple, for the admin; null if Apple has not refused it. */
export async function findProfileFailure(knex: Knex, profileId: number): Promise<string | null> {
  const { rows } = await knex.raw<{ rows: { failure: string | null }[] }>(PROFILE_FAILURE, [
    profileId,
  ]);
  return rows[0]?.failure ?? null;
}

/** Devices and the DEP profile that they should have. */
export interface DesiredProfile {
  profileId: number;
  deviceIds: readonly number[];
}

// Locks in the order of ids, like every statement that locks many rows.
const ASSIGN = `
update devices set dep_profile_id = :profileId where id in (
  select id from devices
  where id = any(:ids::bigint[]) and dep_profile_id is distinct from :profileId
  order by id for no key update)`;

/** A trigger makes the assignment due in `dep_devices`. */
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

/** For devices that have the profile; they get no default profile afterwards. */
export async function unassignProfileFrom(
  trx: Transaction,
  { profileId, deviceIds }: DesiredProfile,
): Promise<void> {
  await trx.raw(UNASSIGN, { profileId, ids: [...deviceIds] });
}
