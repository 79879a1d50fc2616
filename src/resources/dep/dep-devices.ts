import { AppError, notFound } from '../../errors.js';
import {
  bool,
  each,
  integer,
  oneOf,
  text,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import {
  type DeleteOperation,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import type { DepServices } from './dep-profile-state.js';

/** In this order: a device in one stage has passed those before it; `removed` may follow any. */
export const DEP_STAGES = [
  'unassigned',
  'assigned',
  'pushed',
  'contacted',
  'enrolled',
  'removed',
] as const;

const READ_ONLY = { write: 'never' } as const;
const COLUMNS = ['dep_account_id'];

/** With `auto_assign` the default profile is assigned now, not with the next sync. */
async function updateDevice(operation: UpdateOperation<DepServices>): Promise<WriteResult> {
  const { trx, store, shape, id, attributes, services } = operation;
  const row = await store.find(trx, { shape, id, columns: COLUMNS, lock: true });
  if (row === undefined) throw notFound(`dep_devices ${id}`);
  await store.update(trx, { shape, id, values: attributes });
  if (attributes.auto_assign === true) {
    await services.dep.reconcileAccount(trx, Number(row.dep_account_id));
  }
  return { id };
}

/** What Apple lists would be back after the next full sync. */
async function removeDevice(operation: DeleteOperation<DepServices>): Promise<void> {
  const { trx, store, shape, id } = operation;
  const columns = ['listed_at', 'removed_at'];
  const row = await store.find(trx, { shape, id, columns, lock: true });
  if (row === undefined) throw notFound(`dep_devices ${id}`);
  if (row.listed_at !== null && row.removed_at === null) {
    const message =
      'Apple lists the device: remove it from this server at its portal, or disown it, and sync';
    throw new AppError('conflict', 409, message);
  }
  await store.remove(trx, { shape, id });
}

/** The serial numbers of the accounts: what Apple reports, what was requested, and the results. */
export const depDevices = defineResource<DepServices>({
  type: 'dep_devices',
  path: '/dep/devices',
  table: 'dep_device_records',
  isView: true,
  access: { read: 'viewer', create: null, update: 'operator', delete: 'admin' },
  attributes: {
    serial_number: text(READ_ONLY),
    stage: oneOf(DEP_STAGES, READ_ONLY),
    auto_assign: bool({ nullable: false, write: 'update' }),
    by_default: bool({ nullable: false, write: 'never' }),
    ...each(text(READ_ONLY), ['last_error', 'assignment_result', 'disown_result']),
    activation_lock_result: text(READ_ONLY),
    ...each(timestamp(READ_ONLY), [
      'profile_assign_time',
      'profile_push_time',
      'contacted_at',
      'enrolled_at',
      'last_error_at',
    ]),
    is_enrolled: bool(READ_ONLY),
    // Apple's words, whatever they are.
    ...each(text(READ_ONLY), ['profile_uuid', 'profile_status', 'op_type', 'device_assigned_by']),
    ...each(text(READ_ONLY), ['model', 'description', 'color', 'asset_tag', 'os', 'device_family']),
    ...each(timestamp(READ_ONLY), [
      'device_assigned_date',
      'op_date',
      'listed_at',
      'told_at',
      'removed_at',
      'assignment_due_at',
      'assignment_at',
      'activation_lock_at',
      'disowned_at',
      'created_at',
    ]),
    ...each(integer(READ_ONLY), ['assignment_attempts', 'fetch_number']),
  },
  relationships: {
    dep_account: {
      kind: 'toOne',
      type: 'dep_accounts',
      column: 'dep_account_id',
      required: true,
      write: 'never',
    },
    /** The record of the device, by its serial number. */
    device: { kind: 'toOne', type: 'devices', column: 'device_id', write: 'never' },
    /** The wanted one; what Apple has is `profile_uuid`. */
    dep_profile: { kind: 'toOne', type: 'dep_profiles', column: 'dep_profile_id', write: 'never' },
  },
  operations: { update: updateDevice, delete: removeDevice },
});
