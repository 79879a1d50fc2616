import { notFound } from '../../errors.js';
import type {
  CreateOperation,
  DeleteOperation,
  Operation,
  UpdateOperation,
  WriteResult,
} from '../../jsonapi/definition/definition.js';
import { columnsOf } from '../../jsonapi/operations/changes.js';
import type { Row } from '../../jsonapi/store.js';
import { changedAttributes } from '../common.js';
import {
  type DepServices,
  movedTo,
  requireMovable,
  requireUnused,
  stateAt,
} from './dep-profile-state.js';

type Values = Record<string, unknown>;

/** Not sent to Apple. */
const OWN_BUSINESS = ['minimum_ios_version', 'minimum_macos_version'];

export async function createProfile(operation: CreateOperation<DepServices>): Promise<WriteResult> {
  const { trx, store, shape, services } = operation;
  const columns = columnsOf(shape, operation);
  const { url = null } = operation.attributes;
  const values = { ...columns, ...urlColumns(url, services), ...stateAt(columns.dep_account_id) };
  const id = await store.insert(trx, { shape, values });
  if (values.status === 'pending') await services.dep.defineProfile(trx, id);
  return withWarnings(operation, id);
}

/** A profile that follows PUBLIC_URL leads to this server wherever that is. */
function urlColumns(url: unknown, { dep }: DepServices): Values {
  const own = dep.enrollmentUrl;
  return { url: url ?? own, follows_public_url: url === null || url === own };
}

export async function updateProfile(operation: UpdateOperation<DepServices>): Promise<WriteResult> {
  const { trx, store, shape, services, id } = operation;
  const profile = await find(operation, id);
  const { dep_account = profile.dep_account_id } = operation.toOne;
  const accountId = dep_account as number | null;
  const values = changesOf(profile, operation);
  if (accountId !== profile.dep_account_id) {
    if (profile.dep_account_id !== null) await requireMovable(operation, id);
    Object.assign(values, movedTo(accountId));
  } else if (accountId !== null && (profile.status === 'failed' || reachesApple(values))) {
    Object.assign(values, stateAt(accountId));
  }
  await store.update(trx, { shape, id, values });
  if (values.status === 'pending') await services.dep.defineProfile(trx, id);
  return withWarnings(operation, id);
}

function changesOf(profile: Row, { attributes, services }: UpdateOperation<DepServices>): Values {
  const changed = changedAttributes(profile, attributes);
  return changed.url === undefined ? changed : { ...changed, ...urlColumns(changed.url, services) };
}

function reachesApple(values: Values): boolean {
  return Object.keys(values).some((name) => !OWN_BUSINESS.includes(name));
}

/** With `force` its devices get the default of their account, if there is one, also at Apple. */
export async function removeProfile(operation: DeleteOperation<DepServices>): Promise<void> {
  const { trx, store, shape, services, id, flags, details } = operation;
  const { dep_account_id, profile_name } = await find(operation, id);
  const { devices, defaultOf } = await services.dep.profileUses(trx, id);
  if (!flags.has('force')) requireUnused({ devices, defaultOf });
  await store.remove(trx, { shape, id });
  Object.assign(details, { profile_name, devices, default_of: defaultOf });
  if (typeof dep_account_id !== 'number') return;
  await services.dep.reconcileAccount(trx, dep_account_id);
}

async function find(operation: Operation<DepServices>, id: number): Promise<Row> {
  const { trx, store, shape } = operation;
  const own = ['dep_account_id', 'follows_public_url'];
  const columns = [...new Set([...Object.keys(shape.attributes), ...own])];
  const profile = await store.find(trx, { shape, id, columns, lock: true });
  if (profile === undefined) throw notFound(`dep_profiles ${id}`);
  return profile;
}

async function withWarnings(operation: Operation<DepServices>, id: number): Promise<WriteResult> {
  const profile = await find(operation, id);
  const warnings = operation.services.dep.profileWarnings(profile);
  return warnings.length > 0 ? { id, meta: { warnings } } : { id };
}
