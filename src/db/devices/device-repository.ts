import type { Knex } from 'knex';
import type { Sql } from '../connection/statement-runner.js';

/** What decides which commands make up the inventory of a device. */
export interface InventoryTarget {
  id: number;
  udid: string | null;
  enrollment_id: string | null;
  enrollment_state: string | null;
  enrollment_type: string | null;
  enrollment_method: string | null;
  platform: string | null;
  os_version: string | null;
  is_supervised: boolean | null;
  is_multi_user: boolean | null;
}

/** The facts that decide which commands a device may be sent; null: not reported. */
export interface EligibilityFacts {
  id: number;
  enrollment_type: string | null;
  enrollment_method: string | null;
  platform: string | null;
  os_version: string | null;
  is_supervised: boolean | null;
  enrolled_via_dep: boolean | null;
  is_multi_user: boolean | null;
  is_apple_silicon: boolean | null;
  access_rights: number | null;
}

/** A device that commands are queued for. */
export interface DeviceTarget extends InventoryTarget, EligibilityFacts {
  enrollment_number: number;
  pin_required_for_device_lock: boolean | null;
  pin_required_for_erase_device: boolean | null;
}

/** The columns of EligibilityFacts, but for the id. */
export const ELIGIBILITY_COLUMNS = [
  'enrollment_type',
  'enrollment_method',
  'platform',
  'os_version',
  'is_supervised',
  'enrolled_via_dep',
  'is_multi_user',
  'is_apple_silicon',
  'access_rights',
] as const;

/** They decide whether a command needs a PIN. */
const PIN_COLUMNS = ['pin_required_for_device_lock', 'pin_required_for_erase_device'] as const;

/** What decides whether a command can still be sent, but for the id. */
export const OFFER_COLUMNS = [...ELIGIBILITY_COLUMNS, ...PIN_COLUMNS] as const;

/** The columns of a DeviceTarget. */
export const TARGET_COLUMNS = [
  'id',
  'udid',
  'enrollment_id',
  'enrollment_number',
  'enrollment_state',
  ...OFFER_COLUMNS,
] as const;

/** The device facts that the command queue needs. */
export async function findTarget(trx: Knex, id: number): Promise<DeviceTarget | undefined> {
  const [target] = await findTargets(trx, [id]);
  return target;
}

/** The same of many devices. */
export async function findTargets(trx: Knex, ids: readonly number[]): Promise<DeviceTarget[]> {
  return trx<DeviceTarget>('devices')
    .whereRaw('id = any(?)', [[...ids]])
    .orderBy('id')
    .select(...TARGET_COLUMNS);
}

/** Selects the device while it is of the enrollment that was read, and keeps it from being deleted. */
export function guardOfTarget({
  id,
  enrollment_number: number,
  enrollment_state: state,
}: DeviceTarget): Sql {
  return { text: GUARD_OF_TARGET, bindings: [id, number, state] };
}

const GUARD_OF_TARGET = `
select id from devices
where id = ? and enrollment_number = ? and enrollment_state is not distinct from ?
for key share`;

/**
 * Stores the time at which a full inventory was queued for these devices, after its commands: what ends an
 * enrollment removes the commands first and then this time, and would deadlock otherwise.
 */
export async function noteInventoryQueued(
  trx: Knex.Transaction,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return;
  await trx.raw(NOTE_INVENTORY, [[...ids]]);
}

const NOTE_INVENTORY = `
update device_inventories i set queued_at = now()
from (
  select device_id from device_inventories where device_id = any(?::bigint[])
  order by device_id for no key update
) locked
where i.device_id = locked.device_id`;

/** The label (AAD) under which a secret of the device is sealed. */
export function secretLabel(deviceId: number, kind: string): string {
  return `devices/${deviceId}/${kind}`;
}

/** The devices with a UDID that have one of these serial numbers, as written or in upper case. */
export async function findOwnersOfSerials(
  trx: Knex.Transaction,
  serials: readonly string[],
): Promise<{ id: number; serial: string }[]> {
  if (serials.length === 0) return [];
  const written = [...new Set(serials.flatMap((serial) => [serial, serial.toUpperCase()]))];
  return trx('devices')
    .whereRaw('serial_number = any(?)', [written])
    .whereNotNull('udid')
    .select('id', { serial: 'serial_number' });
}

/**
 * Deletes the device with all its rows and leaves a tombstone for each of its identities, so that its
 * next message is answered 401 and the device unenrolls; revoked identities stay revoked. Returns false
 * if there is no such device.
 */
export async function deleteDevice(trx: Knex.Transaction, id: number): Promise<boolean> {
  // The device is locked before its identities, as by its messages; and none is pinned meanwhile.
  const device = await trx('devices').where({ id }).forUpdate().first('id');
  if (device === undefined) return false;
  await trx('device_identities')
    .where({ device_id: id })
    .whereNot({ state: 'revoked' })
    .update({ state: 'tombstone', changed_at: trx.fn.now() });
  // The DEP record stays, without its device.
  await trx('dep_devices').where({ device_id: id }).update({ is_enrolled: false });
  await trx('devices').where({ id }).delete();
  return true;
}

/** The facts of a device's user that the command queue needs. */
interface UserTarget {
  id: number;
  device_id: number;
  user_key: string;
  is_enrolled: boolean;
}

/** The user, locked against deletion until the transaction ends; undefined if unknown. */
export async function findUserTarget(
  trx: Knex.Transaction,
  id: number,
): Promise<UserTarget | undefined> {
  return trx<UserTarget>('device_users')
    .where({ id })
    .forShare()
    .first('id', 'device_id', 'user_key', 'is_enrolled');
}

/** "devi" in ASCII: the advisory locks of identifiers that a new device claims. */
const IDENTIFIER_LOCKS = 0x64_65_76_69;

/** Each uses an index: serial numbers match as written, in upper case and in lower case. */
const CONDITIONS: Record<string, string> = {
  udid: 'lower(udid) = lower(?)',
  enrollment_id: 'lower(enrollment_id) = lower(?)',
  serial_number: 'serial_number in (?, upper(?), lower(?))',
};

/** Selects one row unless a device has one of these identifiers, which it locks until the commit. */
export function guardOfNewDevice(identifiers: [name: string, value: string][]): Sql {
  const {
    udid = null,
    enrollment_id = null,
    serial_number = null,
  } = Object.fromEntries(identifiers);
  return { text: GUARD_OF_NEW_DEVICE, bindings: [udid, enrollment_id, serial_number] };
}

/** The SQL function looks for the devices after it has the locks, in a new snapshot. */
const GUARD_OF_NEW_DEVICE = `
select from (select lock_new_device(?, ?, ?) as is_new) locked where is_new`;

interface IdentifierOwner {
  id: number;
  name: string;
}

/**
 * The first device with each of these identifiers. Locks the identifiers until the transaction ends: no
 * unique index covers serial numbers, since clones of a virtual Mac share theirs.
 */
export async function findIdentifierOwners(
  trx: Knex.Transaction,
  identifiers: [name: string, value: string][],
): Promise<IdentifierOwner[]> {
  await trx.raw(LOCK_IDENTIFIERS, [IDENTIFIER_LOCKS, identifiers.map(([, value]) => value)]);
  const owners: IdentifierOwner[] = [];
  for (const [name, value] of identifiers) {
    const condition = CONDITIONS[name];
    if (condition === undefined) throw new Error(`devices have no identifier ${name}`);
    const values = condition
      .split('?')
      .slice(1)
      .map(() => value);
    const found = await trx('devices').whereRaw(condition, values).orderBy('id').first('id');
    if (found !== undefined) owners.push({ id: Number(found.id), name });
  }
  return owners;
}

// In the order of the keys, so that transactions that share several don't deadlock.
const LOCK_IDENTIFIERS = `
select pg_advisory_xact_lock(?::integer, key)
from (select distinct hashtext(lower(value)) as key from unnest(?::text[]) as value order by 1) keys`;
