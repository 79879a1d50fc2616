import { notFound } from '../errors.js';
import type {
  CreateOperation,
  Operation,
  UpdateOperation,
  WriteInput,
  WriteResult,
} from '../jsonapi/definition.js';
import type { ResourceShape } from '../jsonapi/shape.js';
import { columnsOf } from '../jsonapi/write-values.js';
import { changedAttributes } from './changed-attributes.js';
import { requireTokenCertificate } from './dep-token-certificate.js';
import type { ResourceServices } from './services.js';

type Services = ResourceServices;
type Values = Record<string, unknown>;

export const SECRETS = ['consumer_secret', 'access_secret', 'auth_session_token'] as const;

/** Any of these makes it another token. */
const OPEN_CREDENTIALS = ['consumer_key', 'access_token'];
const CREDENTIALS = [...OPEN_CREDENTIALS, 'consumer_secret', 'access_secret'];

/** The row comes first: what is sealed is bound to its id. */
export async function createAccount(operation: CreateOperation<Services>): Promise<WriteResult> {
  const { trx, store, shape } = operation;
  await requireTokenCertificate(operation, operation.toOne.token_certificate);
  const id = await store.insert(trx, { shape, values: openColumns(operation) });
  await store.update(trx, { shape, id, values: sealedColumns(operation, id) });
  return { id };
}

export async function updateAccount(operation: UpdateOperation<Services>): Promise<WriteResult> {
  const { trx, store, shape, id } = operation;
  const account = await store.find(trx, { shape, id, columns: OPEN_CREDENTIALS, lock: true });
  if (account === undefined) throw notFound(`dep_accounts ${id}`);
  await requireTokenCertificate(operation, operation.toOne.token_certificate);
  const changed = { ...operation, attributes: changedAttributes(account, operation.attributes) };
  const values = { ...openColumns(changed), ...sealedColumns(changed, id) };
  await store.update(trx, { shape, id, values });
  return { id };
}

function openColumns(input: WriteInput & { shape: ResourceShape }): Values {
  const values = columnsOf(input.shape, input);
  for (const name of SECRETS) delete values[name];
  const isToken = CREDENTIALS.some((name) => typeof input.attributes[name] === 'string');
  return isToken ? { ...values, token_updated_at: new Date() } : values;
}

function sealedColumns({ services, attributes }: Operation<Services> & WriteInput, id: number) {
  const values: Values = {};
  for (const name of SECRETS) {
    const secret = attributes[name];
    if (secret === undefined) continue;
    const identity = `dep_accounts/${id}/${name}`;
    const sealed = secret === null ? null : services.secrets.seal(String(secret), identity);
    values[`sealed_${name}`] = sealed;
  }
  return values;
}
