import { notFound } from '../errors.js';
import type { CreateOperation, UpdateOperation, WriteResult } from '../jsonapi/definition.js';
import { columnsOf } from '../jsonapi/write-values.js';
import type { ResourceServices } from './services.js';

type Services = ResourceServices;

export async function createProfile(operation: CreateOperation<Services>): Promise<WriteResult> {
  const { trx, store, shape, services } = operation;
  const values = columnsOf(shape, operation);
  values.url ??= services.enrollmentProgram.enrollmentUrl;
  return { id: await store.insert(trx, { shape, values }) };
}

export async function updateProfile(operation: UpdateOperation<Services>): Promise<WriteResult> {
  const { trx, store, shape, id, services } = operation;
  const values = columnsOf(shape, operation);
  if (values.url === null) values.url = services.enrollmentProgram.enrollmentUrl;
  if (await store.update(trx, { shape, id, values })) return { id };
  throw notFound(`dep_profiles ${id}`);
}
