import { notFound } from '../../errors.js';
import type { Transaction } from '../../jsonapi/context.js';
import { text, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import { operatorWrites, PLIST_TEXT } from '../common.js';

export interface CustomAttributeServices {
  customAttributes: {
    /**
     * Gives the device this value under the name, whether or not it has one. Returns the id of the row.
     * A device that does not exist violates a foreign key.
     */
    set(
      trx: Transaction,
      attribute: { deviceId: number; name: string; value: string },
    ): Promise<number>;
  };
}

const REPLACE = 'true: replace the value that the device has under this name, instead of 409.';

/** What admins note of devices: for `$ATTRIBUTE_name` in profiles, and for rules of smart groups. */
export const customAttributes = defineResource<CustomAttributeServices>({
  type: 'custom_attributes',
  path: '/custom_attributes',
  table: 'custom_attributes',
  access: operatorWrites,
  attributes: {
    name: text({
      write: 'create',
      required: true,
      max: 100,
      pattern: /^[A-Za-z0-9_]+$/,
      like: 'letters, digits and underscores',
    }),
    value: text({
      required: true,
      min: 1,
      max: 1_000,
      pattern: PLIST_TEXT,
      like: 'text without control characters',
    }),
    created_at: timestamp({ write: 'never' }),
    updated_at: timestamp({ write: 'never' }),
  },
  relationships: {
    device: {
      kind: 'toOne',
      type: 'devices',
      column: 'device_id',
      required: true,
      write: 'create',
    },
  },
  createFlags: { replace: REPLACE },
  operations: { create: createAttribute, update: updateAttribute },
});

async function createAttribute(
  operation: CreateOperation<CustomAttributeServices>,
): Promise<WriteResult> {
  const { trx, store, shape, services, flags } = operation;
  const values = columnsOf(shape, operation);
  if (!flags.has('replace')) return { id: await store.insert(trx, { shape, values }) };
  const { device_id: deviceId, name, value } = values;
  const attribute = { deviceId: Number(deviceId), name: String(name), value: String(value) };
  return { id: await services.customAttributes.set(trx, attribute) };
}

/** The same value again changes nothing. */
async function updateAttribute(
  operation: UpdateOperation<CustomAttributeServices>,
): Promise<WriteResult> {
  const { trx, store, shape, id, attributes } = operation;
  const known = await store.find(trx, { shape, id, columns: ['value'], lock: true });
  if (known === undefined) throw notFound(`custom_attributes ${id}`);
  const { value = known.value } = attributes;
  if (value === known.value) return { id };
  await store.update(trx, { shape, id, values: { value, updated_at: new Date() } });
  return { id };
}
