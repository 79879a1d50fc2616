import { notFound } from '../../errors.js';
import type {
  CreateOperation,
  Operation,
  UpdateOperation,
  WriteInput,
  WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import type { ResourceServices } from '../services.js';

type Services = ResourceServices;

/** The columns with the password's hash in place of the password. */
async function hashed({ shape, services, ...input }: Operation<Services> & WriteInput) {
  const { password, ...values } = columnsOf(shape, input);
  if (typeof password !== 'string') return values;
  return { ...values, password_hash: await services.passwords.hash(password) };
}

export async function createUser(operation: CreateOperation<Services>): Promise<WriteResult> {
  const { trx, store, shape } = operation;
  return { id: await store.insert(trx, { shape, values: await hashed(operation) }) };
}

export async function updateUser(operation: UpdateOperation<Services>): Promise<WriteResult> {
  const { trx, store, shape, id } = operation;
  const known = await store.find(trx, { shape, id, columns: ['account'], lock: true });
  if (known === undefined) throw notFound(`enrollment_users ${id}`);
  await store.update(trx, { shape, id, values: await hashed(operation) });
  return { id };
}
