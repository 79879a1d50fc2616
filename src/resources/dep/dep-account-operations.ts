import { AppError, notFound } from '../../errors.js';
import type {
  CreateOperation,
  DeleteOperation,
  Operation,
  RelateOperation,
  RelationshipOperations,
  UpdateOperation,
  WriteInput,
  WriteResult,
} from '../../jsonapi/definition/definition.js';
import type { ResourceShape, ToManyShape } from '../../jsonapi/definition/shape.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import { changedAttributes } from '../common.js';
import {
  namesDefaults,
  requireOwnDefaults,
  requireTokenCertificate,
} from './dep-account-references.js';
import { type DepServices, movedTo, requireMovable } from './dep-profile-state.js';
import { depProfiles } from './dep-profiles.js';

export interface DepAccountServices extends DepServices {
  /** `seal`: encrypts a secret for the place that the label names (`table/id/name`). */
  secrets: { seal(secret: string, label: string): Buffer };
}

type Values = Record<string, unknown>;

export const SECRETS = ['consumer_secret', 'access_secret', 'auth_session_token'] as const;

/** Any of these makes it another token. */
const OPEN_CREDENTIALS = ['consumer_key', 'access_token'];
const CREDENTIALS = [...OPEN_CREDENTIALS, 'consumer_secret', 'access_secret'];

const PROFILES: ToManyShape = {
  kind: 'toMany',
  type: 'dep_profiles',
  via: { foreignKey: 'dep_account_id' },
};

/** Inserts the row first: sealed values are bound to its id. */
export async function createAccount(
  operation: CreateOperation<DepAccountServices>,
): Promise<WriteResult> {
  const { trx, store, shape } = operation;
  requireOwnKey(operation);
  await requireTokenCertificate(operation, operation.toOne.token_certificate);
  await requireOwnDefaults(operation, undefined);
  const id = await store.insert(trx, { shape, values: openColumns(operation) });
  await store.update(trx, { shape, id, values: sealedColumns(operation, id) });
  if (hasCredentials(operation)) await announceToken(operation, id);
  return { id };
}

export async function updateAccount(
  operation: UpdateOperation<DepAccountServices>,
): Promise<WriteResult> {
  const { trx, store, shape, id, services } = operation;
  const columns = [...OPEN_CREDENTIALS, 'cursor'];
  const account = await store.find(trx, { shape, id, columns, lock: true });
  if (account === undefined) throw notFound(`dep_accounts ${id}`);
  const changed = { ...operation, attributes: changedAttributes(account, operation.attributes) };
  requireOwnKey(changed);
  await requireTokenCertificate(operation, operation.toOne.token_certificate);
  await requireOwnDefaults(operation, id);
  const values = {
    ...syncColumns(changed),
    ...openColumns(changed),
    ...sealedColumns(changed, id),
  };
  await store.update(trx, { shape, id, values });
  if (hasCredentials(changed)) await announceToken(operation, id);
  if (namesDefaults(operation)) await services.dep.reconcileAccount(trx, id);
  return { id };
}

/** Deletes the account. Its devices are no longer DEP devices, unless another account lists them. */
export async function removeAccount(operation: DeleteOperation<DepAccountServices>): Promise<void> {
  const { trx, store, shape, id, services, details } = operation;
  const columns = ['server_name'];
  const account = await store.find(trx, { shape, id, columns, lock: true });
  if (account === undefined) throw notFound(`dep_accounts ${id}`);
  const [profile] = await store.linkage(trx, {
    relation: PROFILES,
    shape: depProfiles,
    id,
    limit: 1,
  });
  if (profile !== undefined) {
    throw new AppError('in_use', 409, `Still in use by dep_profiles (${profile})`);
  }
  const devices = await services.dep.releaseDevices(trx, id);
  await store.remove(trx, { shape, id });
  Object.assign(details, { server_name: account.server_name, devices });
}

function requireOwnKey({ attributes, services }: CreateOperation<DepAccountServices>): void {
  const { consumer_key: key } = attributes;
  if (typeof key === 'string') services.dep.requireSameEnvironment(key);
}

function hasCredentials({ attributes }: WriteInput): boolean {
  return CREDENTIALS.some((name) => attributes[name] !== undefined);
}

function announceToken(
  { trx, services, context }: Operation<DepAccountServices>,
  accountId: number,
) {
  return services.dep.tokenChanged(trx, { accountId, by: context.actor.name });
}

/** Another key of a server at Apple is another server, of which nothing is known. */
function syncColumns({ attributes }: WriteInput): Values {
  const values: Values = {};
  if (attributes.consumer_key !== undefined) {
    Object.assign(values, { cursor: null, more_to_follow: null, fetched_until: null });
    Object.assign(values, { sync_phase: 'fetch', suspected_losses: 0, confirmed_at: null });
  }
  // A sync from a foreign cursor is a delta: it must not mark devices as removed.
  if (attributes.cursor !== undefined) {
    values.sync_phase = attributes.cursor === null ? 'fetch' : 'delta';
  }
  // When it ends is known of the former token only.
  if (attributes.access_token !== undefined) values.access_token_expiry = null;
  if (hasCredentials({ attributes, toOne: {}, toMany: {} })) {
    Object.assign(values, { sealed_auth_session_token: null });
  }
  return values;
}

function openColumns(input: WriteInput & { shape: ResourceShape }): Values {
  const values = columnsOf(input.shape, input);
  for (const name of SECRETS) delete values[name];
  if (!hasCredentials(input)) return values;
  const now = new Date();
  const status = { status: 'unconfirmed', status_text: null, status_advice: null, status_at: now };
  const isToken = CREDENTIALS.some((name) => typeof input.attributes[name] === 'string');
  const opened = { ...values, ...status };
  return isToken ? { ...opened, token_updated_at: now } : opened;
}

function sealedColumns(
  { services, attributes }: Operation<DepAccountServices> & WriteInput,
  id: number,
) {
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

/** The profiles of an account, changed from the side of the account. */
export const profilesOfAccount: RelationshipOperations<DepAccountServices> = {
  add: (operation) => move(operation, operation.id),
  remove: (operation) => move(operation, null),
};

async function move(
  operation: RelateOperation<DepAccountServices>,
  accountId: number | null,
): Promise<void> {
  const { trx, store, services, relatedIds } = operation;
  const shape = depProfiles;
  for (const id of relatedIds) {
    const columns = ['dep_account_id'];
    const profile = await store.find(trx, { shape, id, columns, lock: true });
    if (profile === undefined || profile.dep_account_id === accountId) continue;
    if (profile.dep_account_id !== null) await requireMovable(operation, id);
    await store.update(trx, { shape, id, values: movedTo(accountId) });
    if (accountId !== null) await services.dep.defineProfile(trx, id);
  }
}
