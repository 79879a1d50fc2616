import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';
import type { InventoryRow } from './inventory-repository.js';

/** The answer of a user to ProfileList. */
export interface ListedUserProfiles {
  /** The ProfileList. */
  commandId: number;
  /** It asked for managed profiles only: the others stay as they are. */
  isManagedOnly: boolean;
  /** With `payload_identifier`, `payload_uuid` and `is_managed`. */
  profiles: readonly InventoryRow[];
}

const REPLACE = `
with list as (
  select c.device_user_id, c.acknowledged_at, l.profiles, l.is_managed_only
  from jsonb_to_recordset(?::jsonb) as l (command_id bigint, is_managed_only boolean, profiles jsonb)
  join commands c on c.id = l.command_id
), listed as (
  update device_users u set profiles_listed_at = greatest(u.profiles_listed_at, l.acknowledged_at)
  from list l where u.id = l.device_user_id
), removed as (
  delete from user_profiles p using list l
  where p.device_user_id = l.device_user_id
    and (not l.is_managed_only or p.is_managed is not false)
)
insert into user_profiles (device_user_id, payload_identifier, payload_uuid, is_managed)
select l.device_user_id, p.payload_identifier, p.payload_uuid, p.is_managed
from list l cross join jsonb_to_recordset(l.profiles)
  as p (payload_identifier text, payload_uuid text, is_managed boolean)
where p.payload_identifier is not null`;

/** Replaces the stored profiles of these users with those that they list. */
export async function replaceUserProfiles(
  trx: Knex.Transaction,
  lists: readonly ListedUserProfiles[],
): Promise<void> {
  if (lists.length === 0) return;
  const rows = lists.map(({ commandId, isManagedOnly, profiles }) => ({
    command_id: commandId,
    is_managed_only: isManagedOnly,
    profiles: profiles.map(({ payload_identifier, payload_uuid, is_managed }) => {
      return { payload_identifier, payload_uuid, is_managed };
    }),
  }));
  await trx.raw(REPLACE, [JSON.stringify(rows)]);
}

const USERS_TO_LIST = `
select u.id as "userId", u.device_id as "deviceId" from device_users u
where u.id = any(:users::bigint[]) and u.is_enrolled
  and not exists (
    select from device_items i where i.device_user_id = u.id and i.action is not null)
  and not exists (
    select from commands c
    where c.device_user_id = u.id and c.is_pending and c.request_type = 'ProfileList'
      and c.scheduled_sha256 is not null)
order by u.id`;

/** A user of a device, by their ids. */
export interface UserOfDevice {
  userId: number;
  deviceId: number;
}

/** The enrolled users among these without a pending item and without a scheduled ProfileList. */
export async function usersToList(
  trx: Transaction,
  users: readonly number[],
): Promise<UserOfDevice[]> {
  if (users.length === 0) return [];
  const { rows } = await trx.raw<{ rows: UserOfDevice[] }>(USERS_TO_LIST, { users: [...users] });
  return rows;
}

/** The users of these devices with an installed item. */
export async function usersWithItems(
  trx: Transaction,
  deviceIds: readonly number[],
): Promise<number[]> {
  return await trx('device_items')
    .whereRaw('device_id = any(?::bigint[])', [[...deviceIds]])
    .whereNotNull('device_user_id')
    .whereNotNull('installed_uuid')
    .distinct()
    .pluck('device_user_id');
}
