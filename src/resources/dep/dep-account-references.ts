import { AppError, type ErrorDetail, validationError } from '../../errors.js';
import type { CreateOperation, Operation } from '../../jsonapi/definition/definition.js';
import type { ToOne } from '../../jsonapi/definition/shape.js';
import { certificates } from '../certificates/certificates.js';
import { rsaPrivateKeys } from '../certificates/rsa-private-keys.js';
import { depProfiles } from './dep-profiles.js';

/** The kinds of devices that may have a default profile of their own. */
export const FAMILIES = ['iphone', 'ipad', 'mac', 'apple_tv', 'vision'] as const;

/** Purpose of the certificates that Apple encrypts server tokens to. */
const PURPOSE = 'dep.stoken';

/** Relationships, and columns without `_id`. The first is the default of families without a default of their own. */
const NAMES = ['default_dep_profile', ...FAMILIES.map((family) => `default_${family}_profile`)];

/** Profiles for devices of the account that have none assigned. */
export const defaultProfiles: Record<string, ToOne> = Object.fromEntries(
  NAMES.map((name) => [
    name,
    { kind: 'toOne', type: 'dep_profiles', column: `${name}_id`, write: 'always' },
  ]),
);

type Writing = Pick<CreateOperation<unknown>, 'trx' | 'store' | 'toOne'>;

/** Whether the write names any; null counts. */
export function namesDefaults({ toOne }: Pick<Writing, 'toOne'>): boolean {
  return NAMES.some((name) => toOne[name] !== undefined);
}

/**
 * AppError 409 with the pointer of each default that the account can't have: `no_dep_account` of a
 * profile without one, `other_dep_account`. `accountId` undefined: the account is just being made.
 */
export async function requireOwnDefaults(
  { trx, store, toOne }: Writing,
  accountId: number | undefined,
): Promise<void> {
  const wanted = NAMES.flatMap((name) => {
    const id = toOne[name];
    return typeof id === 'number' ? [{ name, id }] : [];
  });
  if (wanted.length === 0) return;
  const ids = [...new Set(wanted.map(({ id }) => id))];
  const columns = ['dep_account_id'];
  const profiles = await store.findMany(trx, { shape: depProfiles, ids, columns });
  const ownerOf = new Map(profiles.map(({ id, dep_account_id }) => [id, dep_account_id]));
  const faults = wanted.flatMap(({ name, id }) =>
    faultOf({ name, id }, ownerOf.get(id), accountId),
  );
  const [first] = faults;
  if (first === undefined) return;
  const message = faults.map(({ detail }) => detail).join('; ');
  throw new AppError(first.code, 409, message, { details: faults });
}

function faultOf(
  { name, id }: { name: string; id: number },
  owner: unknown,
  accountId: number | undefined,
): (ErrorDetail & { code: 'no_dep_account' | 'other_dep_account' })[] {
  if (accountId !== undefined && owner === accountId) return [];
  const source = { pointer: `/data/relationships/${name}/data` };
  if (typeof owner === 'number') {
    const detail = `the dep_profile ${id} is of the dep_account ${owner}`;
    return [{ code: 'other_dep_account', detail, source }];
  }
  const detail = `the dep_profile ${id} has no dep_account: set this one first`;
  return [{ code: 'no_dep_account', detail, source }];
}

/** AppError 422 unless the certificate is one by which Apple knows this server, with its RSA key. */
export async function requireTokenCertificate(
  { trx, store }: Operation<unknown>,
  id: number | null | undefined,
): Promise<void> {
  if (typeof id !== 'number') return;
  const keyOf = (key: number) =>
    store.find(trx, { shape: rsaPrivateKeys, id: key, columns: ['key_type'] });
  const columns = ['purpose', 'rsa_private_key_id'];
  const certificate = await store.find(trx, { shape: certificates, id, columns });
  if (certificate?.purpose !== PURPOSE) throw fault(`is no certificate of purpose ${PURPOSE}`);
  const keyId = certificate.rsa_private_key_id;
  const key = typeof keyId === 'number' ? await keyOf(keyId) : undefined;
  if (key?.key_type !== 'RSA') throw fault('has no private RSA key here');
}

function fault(detail: string) {
  const source = { pointer: '/data/relationships/token_certificate/data' };
  return validationError([{ detail: `the certificate ${detail}`, source }]);
}
