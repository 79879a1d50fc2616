import type { NameChanges, RenamableDevice } from '../../commands/rename-device.js';
import { AppError, notFound } from '../../errors.js';
import type { Transaction } from '../../jsonapi/context.js';
import type { CreatePlan } from '../../jsonapi/create-plan.js';
import type {
  CreateOperation,
  DeleteOperation,
  PlanOperation,
  UpdateOperation,
  WriteInput,
  WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import type { Row } from '../../jsonapi/store.js';
import type { CommandServices } from '../commands/command-operations.js';
import { queuedCommands } from '../commands/device-commands.js';
import { changedAttributes } from '../common.js';
import type { DepServices } from '../dep/dep-profile-state.js';
import {
  assertDeviceIsNew,
  assertFactsUnchanged,
  type DeviceRecords,
  FACT_NAMES,
  identifiersIn,
  ownedAttributes,
} from './device-facts.js';

type ProfileWarnings = Awaited<ReturnType<DepServices['dep']['assignProfile']>>;

export interface DeviceServices extends CommandServices, DepServices {
  settings: {
    /** Queues a Settings command for an enrolled device. Returns the ids of the queued commands. */
    rename(
      trx: Transaction,
      input: { device: RenamableDevice; changes: NameChanges },
    ): Promise<number[]>;
  };
  devices: DeviceRecords & {
    /** The kinds of secrets of the device that are lost with it. */
    irreplaceableSecrets(trx: Transaction, id: number): Promise<string[]>;
    /** Removes the device and leaves the tombstones of its identities. AppError 404. */
    remove(trx: Transaction, input: { id: number }): Promise<void>;
    /** What the transaction changes of devices from here on is this token's doing. */
    changedBy(trx: Transaction, token: string): Promise<void>;
  };
}

type Create = CreateOperation<DeviceServices>;
type Update = UpdateOperation<DeviceServices>;
type Plan = PlanOperation<DeviceServices>;

/** Columns of the row that the services get. */
const COLUMNS = [
  'access_rights',
  'udid',
  'enrollment_state',
  'enrollment_type',
  'enrollment_id',
  'is_enrolled',
  'is_supervised',
  'platform',
  'os_version',
  'model',
  'product_name',
  'dep_profile_id',
  'device_name',
  'hostname',
];

export async function createDevice(operation: Create): Promise<WriteResult> {
  const { trx, store, shape, services, attributes } = operation;
  requireRights(operation, null);
  await assertDeviceIsNew(trx, services.devices, attributes);
  const { wanted, rest } = withoutProfile(operation);
  const id = await store.insert(trx, { shape, values: columnsOf(shape, rest) });
  const meta = await changeProfile(operation, { id, current: null, wanted });
  return meta ? { id, meta } : { id };
}

/**
 * Plans a device without a DEP profile. Undefined for one with it, which also needs a job, and for one that
 * is enrolled, whose inventory is due at a time that only the database knows.
 */
export async function planDevice(operation: Plan): Promise<CreatePlan | undefined> {
  const { shape, services, attributes, toOne } = operation;
  if (toOne.dep_profile !== undefined || attributes.is_enrolled === true) return undefined;
  const guard = services.devices.guardOfNew(identifiersIn(attributes));
  const computed = { inventory_requested_at: null };
  return { values: columnsOf(shape, operation), computed, guard, effects: [] };
}

/**
 * Writes only what an admin owns if the device is enrolled. New names are sent by a Settings
 * command; their columns change once the device has accepted them.
 */
export async function updateDevice(operation: Update): Promise<WriteResult> {
  const { trx, store, shape, services, id, attributes, unwritable } = operation;
  const columns = [...COLUMNS, ...FACT_NAMES];
  const device = await store.find(trx, { shape, id, columns, lock: true });
  if (device === undefined) throw notFound(`devices ${id}`);
  requireRights(operation, device.dep_profile_id);
  requireRightsToGrant(operation, device);
  if (device.is_enrolled === true) assertFactsUnchanged(device, { ...unwritable, ...attributes });
  const { changes, values } = split(device, attributes);
  const { wanted, rest } = withoutProfile(operation);
  await services.devices.changedBy(trx, operation.context.actor.name);
  await store.update(trx, {
    shape,
    id,
    values: columnsOf(shape, { ...rest, attributes: values }),
  });
  const meta = await changeProfile(operation, { id, current: device.dep_profile_id, wanted });
  if (Object.keys(changes).length === 0) return meta ? { id, meta } : { id };
  const queued = await services.settings.rename(trx, { device, changes });
  const audit = { commands: await queuedCommands(operation, queued) };
  return { id, meta: { ...meta, queued_commands: queued }, audit };
}

const PROFILE_POINTER = '/data/relationships/dep_profile';

/** Only admins may write DEP profiles, so only admins may assign one. */
function requireRights({ context, toOne }: Create | Update, current: unknown): void {
  const { dep_profile: wanted = current } = toOne;
  if (wanted === current || context.actor.role === 'admin') return;
  const source = { pointer: PROFILE_POINTER };
  throw new AppError('forbidden', 403, 'assigning a DEP profile needs the role admin', { source });
}

/** The access rights of an enrolled device decide which commands admins may send to it. */
function requireRightsToGrant({ context, attributes }: Update, device: Row): void {
  const { access_rights: wanted = device.access_rights } = attributes;
  const isSame = wanted === device.access_rights || device.is_enrolled !== true;
  if (isSame || context.actor.role === 'admin') return;
  const source = { pointer: '/data/attributes/access_rights' };
  const detail = 'changing access_rights of an enrolled device needs the role admin';
  throw new AppError('forbidden', 403, detail, { source });
}

function withoutProfile(input: WriteInput) {
  const { dep_profile: wanted, ...toOne } = input.toOne;
  const { attributes, toMany } = input;
  return { wanted, rest: { attributes, toOne, toMany } };
}

interface ProfileChange {
  id: number;
  current: unknown;
  /** undefined: the document says nothing of it. */
  wanted: number | null | undefined;
}

/**
 * A job sends it to Apple. The profile must be one of an account that lists the device. Returns the
 * `meta` of the answer.
 */
async function changeProfile(
  { trx, services: { dep } }: Create | Update,
  { id, current, wanted }: ProfileChange,
): Promise<{ warnings: ProfileWarnings } | undefined> {
  if (wanted === undefined || wanted === current) return undefined;
  const deviceIds = [id];
  if (wanted !== null) {
    const choice = { profileId: wanted, deviceIds, at: PROFILE_POINTER };
    const warnings = await dep.assignProfile(trx, choice);
    return warnings.length > 0 ? { warnings } : undefined;
  }
  if (typeof current === 'number') {
    await dep.unassignProfile(trx, { profileId: current, deviceIds });
  }
  return undefined;
}

function split(device: Row, attributes: Record<string, unknown>) {
  if (device.is_enrolled !== true) return { changes: {}, values: attributes };
  const { device_name, hostname, ...values } = ownedAttributes(attributes);
  const names = Object.entries({ device_name, hostname }).filter(([, name]) => name !== undefined);
  const changes: NameChanges = changedAttributes(device, Object.fromEntries(names));
  return { changes, values };
}

export async function removeDevice(operation: DeleteOperation<DeviceServices>): Promise<void> {
  const { trx, services, id, context } = operation;
  if (context.actor.role !== 'admin') await assertNothingIsLost(operation);
  await services.devices.remove(trx, { id });
}

/** AppError 403 naming the secrets that would be deleted with the device. */
async function assertNothingIsLost(operation: DeleteOperation<DeviceServices>): Promise<void> {
  const { trx, services, id } = operation;
  const kinds = await services.devices.irreplaceableSecrets(trx, id);
  if (kinds.length === 0) return;
  const detail =
    `device ${id} has secrets that would be deleted with it (${kinds.join(', ')}): ` +
    'deleting it needs the role admin';
  throw new AppError('forbidden', 403, detail);
}
