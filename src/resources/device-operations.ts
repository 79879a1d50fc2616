import { AppError, notFound } from '../errors.js';
import type {
  CreateOperation,
  DeleteOperation,
  UpdateOperation,
  WriteResult,
} from '../jsonapi/definition.js';
import type { Row } from '../jsonapi/store.js';
import { columnsOf } from '../jsonapi/write-values.js';
import { changedAttributes } from './changed-attributes.js';
import type { ResourceServices } from './services.js';

type Create = CreateOperation<ResourceServices>;
type Update = UpdateOperation<ResourceServices>;

interface NameChanges {
  device_name?: string | null;
  hostname?: string | null;
}

/** Columns of the row that the services get. */
const COLUMNS = [
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
  const { trx, store, shape } = operation;
  requireRights(operation, null);
  return { id: await store.insert(trx, { shape, values: columnsOf(shape, operation) }) };
}

/**
 * An enrolled device keeps its names until it has taken the new ones: they go out as a Settings
 * command, and the column changes with the next inventory.
 */
export async function updateDevice(operation: Update): Promise<WriteResult> {
  const { trx, store, shape, services, context, id, attributes } = operation;
  const device = await store.find(trx, { shape, id, columns: COLUMNS, lock: true });
  if (device === undefined) throw notFound(`devices ${id}`);
  requireRights(operation, device.dep_profile_id);
  const { changes, values } = split(device, attributes);
  await store.update(trx, {
    shape,
    id,
    values: columnsOf(shape, { ...operation, attributes: values }),
  });
  if (Object.keys(changes).length === 0) return { id };
  const queued = await services.settings.rename(trx, { device, changes, context });
  return { id, meta: { queued_commands: queued } };
}

/** Profiles of the enrollment program are for admins, so assigning one is, too. */
function requireRights({ context, toOne }: Create | Update, current: unknown): void {
  const { dep_profile: wanted = current } = toOne;
  if (wanted === current || context.actor.role === 'admin') return;
  const source = { pointer: '/data/relationships/dep_profile' };
  throw new AppError('forbidden', 403, 'assigning a DEP profile needs the role admin', { source });
}

function split(device: Row, attributes: Record<string, unknown>) {
  if (device.is_enrolled !== true) return { changes: {}, values: attributes };
  const { device_name, hostname, ...values } = attributes;
  const names = Object.entries({ device_name, hostname }).filter(([, name]) => name !== undefined);
  const changes: NameChanges = changedAttributes(device, Object.fromEntries(names));
  return { changes, values };
}

export async function removeDevice(operation: DeleteOperation<ResourceServices>): Promise<void> {
  const { trx, services, context, id } = operation;
  await services.devices.remove(trx, { id, context });
}
