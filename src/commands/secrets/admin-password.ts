import { pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { validationError } from '../../errors.js';
import { buildPlist } from '../../protocol/plist/plist.js';
import type { JsonObject } from '../present-command.js';

const derive = promisify(pbkdf2);

/** As macOS stores the password of a local account: about 0.1 s in a thread of the pool. */
const HASH = { iterations: 60_000, entropyBytes: 128, saltBytes: 32, digest: 'sha512' };
/** Characters of a password that a command sets. */
export const MAX_PASSWORD = 255;
export const PARAMETERS = '/data/attributes/parameters';

export interface PasswordChange {
  parameters: JsonObject;
  /** Undefined where the request has Apple's `passwordHash` already, or sets none. */
  password?: string | undefined;
  /** It sets a password that only its hash is known of. */
  isHashGiven?: true | undefined;
}

/**
 * Fills `passwordHash` of SetAutoAdminPassword, or of the first account of AccountConfiguration, from
 * its member `password`, which Apple's command does not have; one that is left out is made.
 * AppError 422 for a password that is no text, and for both members.
 */
export async function completeAdminPassword(
  requestType: string,
  parameters: JsonObject,
  newPassword: () => string,
): Promise<PasswordChange> {
  if (requestType === 'SetAutoAdminPassword') {
    const { account, ...made } = await complete(parameters, { newPassword, pointer: PARAMETERS });
    return { parameters: account, ...made };
  }
  const { AutoSetupAdminAccounts: accounts } = parameters;
  if (requestType !== 'AccountConfiguration' || !Array.isArray(accounts)) return { parameters };
  const [first, ...others] = accounts;
  if (!isObject(first)) return { parameters };
  const pointer = `${PARAMETERS}/AutoSetupAdminAccounts/0`;
  const { account, ...made } = await complete(first, { newPassword, pointer });
  return { parameters: { ...parameters, AutoSetupAdminAccounts: [account, ...others] }, ...made };
}

async function complete(
  given: JsonObject,
  { newPassword, pointer }: { newPassword: () => string; pointer: string },
): Promise<Omit<PasswordChange, 'parameters'> & { account: JsonObject }> {
  const { password: chosen, ...account } = given;
  const source = { pointer: `${pointer}/password` };
  if (account.passwordHash !== undefined) {
    if (chosen === undefined) return { account, isHashGiven: true };
    const detail = 'use either password or passwordHash: Muster derives the hash of a password';
    throw validationError([{ detail, source }]);
  }
  const password = chosen ?? newPassword();
  if (typeof password !== 'string' || password === '' || password.length > MAX_PASSWORD) {
    const detail = `password must be a text of 1 to ${MAX_PASSWORD} characters; leave it out and Muster makes one`;
    throw validationError([{ detail, source }]);
  }
  const passwordHash = (await hashForMac(password)).toString('base64');
  return { account: { ...account, passwordHash }, password };
}

/** The property list that Apple's `passwordHash` holds: PBKDF2 with SHA-512 and a salt. */
async function hashForMac(password: string): Promise<Buffer> {
  const { iterations, entropyBytes, saltBytes, digest } = HASH;
  const salt = randomBytes(saltBytes);
  const entropy = await derive(password, salt, iterations, entropyBytes, digest);
  return buildPlist({ 'SALTED-SHA512-PBKDF2': { entropy, iterations, salt } });
}

function isObject(value: JsonObject[string] | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
