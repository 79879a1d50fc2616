import { notFound } from '../../errors.js';
import { integer, text, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import { adminWrites, PLIST_TEXT } from '../common.js';

export interface ProfileSecretServices {
  profileSecrets: {
    seal(id: number, value: string): Buffer;
    /** Whether the sealed value of that secret is this one. */
    isSame(id: number, sealed: Buffer, value: string): boolean;
  };
}

/** Values for `$SECRET_name` in profiles. They are written, and sent to devices; nothing shows them. */
export const profileSecrets = defineResource<ProfileSecretServices>({
  type: 'profile_secrets',
  path: '/profile_secrets',
  table: 'profile_secrets',
  access: adminWrites,
  attributes: {
    name: text({
      write: 'create',
      required: true,
      max: 100,
      pattern: /^[A-Za-z0-9_]+$/,
      like: 'letters, digits and underscores',
    }),
    value: text({
      writeOnly: true,
      required: true,
      min: 1,
      max: 10_000,
      pattern: PLIST_TEXT,
      like: 'text without control characters',
      derivedFrom: ['sealed_value'],
    }),
    version: integer({ write: 'never' }),
    created_at: timestamp({ write: 'never' }),
    updated_at: timestamp({ write: 'never' }),
  },
  relationships: {},
  operations: { create: createSecret, update: updateSecret },
});

/** The row comes first: its value is sealed for its id. */
async function createSecret(
  operation: CreateOperation<ProfileSecretServices>,
): Promise<WriteResult> {
  const { trx, store, shape, services } = operation;
  const { value, ...columns } = columnsOf(shape, operation);
  const values = { ...columns, sealed_value: Buffer.alloc(0) };
  const id = await store.insert(trx, { shape, values });
  const sealed_value = services.profileSecrets.seal(id, String(value));
  await store.update(trx, { shape, id, values: { sealed_value } });
  return { id };
}

/** The same value again changes nothing: each version is installed anew wherever it is used. */
async function updateSecret(
  operation: UpdateOperation<ProfileSecretServices>,
): Promise<WriteResult> {
  const { trx, store, shape, id, services, attributes } = operation;
  const columns = ['version', 'sealed_value'];
  const known = await store.find(trx, { shape, id, columns, lock: true });
  if (known === undefined) throw notFound(`profile_secrets ${id}`);
  const { value } = attributes;
  if (typeof value !== 'string') return { id };
  if (services.profileSecrets.isSame(id, known.sealed_value as Buffer, value)) return { id };
  const sealed_value = services.profileSecrets.seal(id, value);
  const version = Number(known.version) + 1;
  await store.update(trx, { shape, id, values: { sealed_value, version, updated_at: new Date() } });
  return { id };
}
