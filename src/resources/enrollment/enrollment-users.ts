import { notFound } from '../../errors.js';
import { bool, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  defineResource,
  type Operation,
  type UpdateOperation,
  type WriteInput,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';

/**
 * No white space, quotes, brackets, controls or characters that show nothing. Written out, since
 * `\p{…}` is not of the regular expressions that JSON Schema recommends.
 */
const PART =
  '[^\\s@"\'<>\\\\\\u0000-\\u0020\\u007f-\\u00a0\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]';
const ACCOUNT = new RegExp(`^${PART}{1,64}@${PART}{1,253}$`);

export interface EnrollmentUserServices {
  /** `hash`: what is stored of a password. */
  passwords: { hash(password: string): Promise<string> };
}

/** People who may enroll devices with their account where no identity provider signs them in. */
export const enrollmentUsers = defineResource<EnrollmentUserServices>({
  type: 'enrollment_users',
  path: '/enrollment_users',
  table: 'enrollment_users',
  access: { read: 'operator', create: 'admin', update: 'admin', delete: 'admin' },
  attributes: {
    account: text({
      required: true,
      max: 254,
      pattern: ACCOUNT,
      like: 'a Managed Apple Account, name@example.com',
      ignoreCase: true,
    }),
    full_name: text({ max: 255 }),
    password: text({
      required: true,
      writeOnly: true,
      min: 12,
      max: 200,
      derivedFrom: ['password_hash'],
    }),
    enrollment_mode: oneOf(['byod', 'adde']),
    is_disabled: bool({ nullable: false }),
    last_login_at: timestamp({ write: 'never' }),
    created_at: timestamp({ write: 'never' }),
  },
  defaults: { is_disabled: false },
  relationships: {},
  operations: { create: createUser, update: updateUser },
});

async function createUser(
  operation: CreateOperation<EnrollmentUserServices>,
): Promise<WriteResult> {
  const { trx, store, shape } = operation;
  return { id: await store.insert(trx, { shape, values: await hashed(operation) }) };
}

async function updateUser(
  operation: UpdateOperation<EnrollmentUserServices>,
): Promise<WriteResult> {
  const { trx, store, shape, id } = operation;
  const known = await store.find(trx, { shape, id, columns: ['account'], lock: true });
  if (known === undefined) throw notFound(`enrollment_users ${id}`);
  await store.update(trx, { shape, id, values: await hashed(operation) });
  return { id };
}

/** The columns with the password's hash in place of the password. */
async function hashed({
  shape,
  services,
  ...input
}: Operation<EnrollmentUserServices> & WriteInput) {
  const { password, ...values } = columnsOf(shape, input);
  if (typeof password !== 'string') return values;
  return { ...values, password_hash: await services.passwords.hash(password) };
}
