import { randomInt } from 'node:crypto';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { secretLabel } from '../../db/devices/device-repository.js';
import type { CommandSecretKind } from '../../db/devices/device-secrets.js';
import { findConfirmedSecret, type SecretOfCommand } from '../../db/devices/secrets-in-effect.js';
import type { ErrorDetail } from '../../errors.js';
import type { JsonObject } from '../present-command.js';
import { completeAdminPassword, MAX_PASSWORD, PARAMETERS } from './admin-password.js';
import { completeRotation, needsCurrentKey, type RotationDeps } from './recovery-keys.js';
import { refuseWhileChanging } from './waiting-change.js';

/** A secret of the device that a command sets or needs, and its keys in the parameters. */
interface SecretRule {
  kind: CommandSecretKind;
  sets?: 'PIN' | 'NewPassword';
  /** Left out, it is what the device last confirmed. */
  needs?: 'CurrentPassword' | 'Password';
  /** Another type of command that changes the secret. */
  changedBy?: string;
}

const RULES: Record<string, SecretRule> = {
  DeviceLock: { kind: 'device_lock_pin', sets: 'PIN' },
  EraseDevice: { kind: 'erase_pin', sets: 'PIN' },
  SetRecoveryLock: {
    kind: 'recovery_lock_password',
    sets: 'NewPassword',
    needs: 'CurrentPassword',
  },
  VerifyRecoveryLock: {
    kind: 'recovery_lock_password',
    needs: 'Password',
    changedBy: 'SetRecoveryLock',
  },
  SetFirmwarePassword: { kind: 'firmware_password', sets: 'NewPassword', needs: 'CurrentPassword' },
  VerifyFirmwarePassword: {
    kind: 'firmware_password',
    needs: 'Password',
    changedBy: 'SetFirmwarePassword',
  },
};

const PIN_FORMAT = '\\d{6}';
const PIN = new RegExp(`^${PIN_FORMAT}$`);
const NO_PIN =
  'PIN must be six digits. Leave it out: Muster makes one for a Mac that needs one, and other devices have none';

const NO_PASSWORD =
  'Password must not be empty; leave it out and Muster sends the last confirmed one';

/** Without 0, O, 1, I and L: a person types it from a screen, before any keyboard layout is loaded. */
const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz';
const GROUPS = 5;
const GROUP_LETTERS = 4;

/** The facts of the device that decide whether it needs a PIN; null: not reported. */
export interface SecretTarget {
  id: number;
  platform: string | null;
  pin_required_for_device_lock: boolean | null;
  pin_required_for_erase_device: boolean | null;
}

interface Incomplete {
  target: SecretTarget;
  requestType: string;
  parameters: JsonObject;
}

export interface CompletedCommand {
  parameters: JsonObject;
  /** To be stored in the transaction that queues the command. */
  secret?: SecretOfCommand | undefined;
}

/** The commands that it may complete: with `admin-password` and `recovery-keys`. */
const INVOLVED = new Set([
  ...Object.keys(RULES),
  'AccountConfiguration',
  'RotateFileVaultKey',
  'SetAutoAdminPassword',
]);

/** Whether `completeSecrets` may read or make a secret for such a command. */
export function involvesSecret(requestType: string): boolean {
  return INVOLVED.has(requestType);
}

/**
 * The type of command that changes the secret whose current value is left out of these parameters:
 * `completeSecrets` refuses them while one waits.
 */
export function changeToWaitFor(requestType: string, parameters: JsonObject): string | undefined {
  if (requestType === 'RotateFileVaultKey') {
    return needsCurrentKey(parameters) ? requestType : undefined;
  }
  const { needs, changedBy = requestType } = ruleOf(requestType) ?? {};
  return needs !== undefined && parameters[needs] === undefined ? changedBy : undefined;
}

/** Whether the device needs a PIN with the command, which a command that was queued for it has. */
export function needsPin(target: SecretTarget, requestType: string): boolean {
  return ruleOf(requestType)?.sets === 'PIN' && needsNew('PIN', target, requestType);
}

/**
 * The parameters with the secrets that were left out: a new one is made, a current one is the one that
 * the device last confirmed. What was given is not checked. AppError 409 where a command that waits
 * will change the current one.
 */
export async function completeSecrets(
  deps: RotationDeps,
  command: Incomplete,
): Promise<CompletedCommand> {
  const { box } = deps;
  const { target, requestType } = command;
  if (!involvesSecret(requestType)) return { parameters: command.parameters };
  const deviceId = target.id;
  if (requestType === 'RotateFileVaultKey') {
    const { parameters } = command;
    return { parameters: await completeRotation(deps, { deviceId, parameters }) };
  }
  const changed = await completeAdminPassword(requestType, command.parameters, newPassword);
  const { parameters, password, isHashGiven } = changed;
  const kind = 'admin_password';
  if (password !== undefined) {
    return { parameters, secret: seal(box, { deviceId, kind, value: password }) };
  }
  if (isHashGiven === true) return { parameters, secret: { deviceId, kind, isKnown: false } };
  const rule = ruleOf(requestType);
  if (rule === undefined) return { parameters };
  return completeByRule(deps, rule, { target, requestType, parameters });
}

async function completeByRule(
  { trx, box }: RotationDeps,
  { kind, sets, needs }: SecretRule,
  { target, requestType, parameters }: Incomplete,
): Promise<CompletedCommand> {
  const deviceId = target.id;
  const complete = { ...parameters };
  if (needs !== undefined && complete[needs] === undefined) {
    const change = changeToWaitFor(requestType, complete);
    if (change !== undefined) {
      await refuseWhileChanging(trx, { deviceId, requestType: change, key: needs });
    }
    const current = await currentSecret(trx, box, { deviceId, kind });
    if (current !== undefined) complete[needs] = current;
  }
  if (sets === undefined) return { parameters: complete };
  if (complete[sets] === undefined && needsNew(sets, target, requestType)) {
    complete[sets] = sets === 'PIN' ? newPin() : newPassword();
  }
  const value = complete[sets];
  if (typeof value !== 'string') return { parameters: complete };
  return { parameters: complete, secret: seal(box, { deviceId, kind, value }) };
}

async function currentSecret(
  trx: Transaction,
  box: SecretBox,
  { deviceId, kind }: { deviceId: number; kind: CommandSecretKind },
): Promise<string | undefined> {
  const sealed = await findConfirmedSecret(trx, { deviceId, kind });
  if (sealed === undefined) return undefined;
  return box.open(sealed, secretLabel(deviceId, kind)).toString('utf8');
}

/** Only Macs have PINs. Null: the platform is not known. */
export function mayHavePin(platform: string | null): boolean {
  return platform === null || platform === 'macOS';
}

/** A Mac that has not said whether it needs a PIN gets one. */
function needsNew(sets: 'PIN' | 'NewPassword', target: SecretTarget, requestType: string): boolean {
  if (sets === 'NewPassword') return true;
  const { platform, pin_required_for_device_lock, pin_required_for_erase_device } = target;
  const isRequired =
    requestType === 'DeviceLock' ? pin_required_for_device_lock : pin_required_for_erase_device;
  return platform === 'macOS' && isRequired !== false;
}

function newPin(): string {
  return String(randomInt(1_000_000)).padStart(6, '0');
}

function newPassword(): string {
  const letter = () => LETTERS[randomInt(LETTERS.length)];
  const group = () => Array.from({ length: GROUP_LETTERS }, letter).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

/** The regular expression of the command's PIN; undefined if it sets none. */
export function pinFormat(requestType: string): string | undefined {
  return ruleOf(requestType)?.sets === 'PIN' ? PIN_FORMAT : undefined;
}

function ruleOf(requestType: string): SecretRule | undefined {
  return Object.hasOwn(RULES, requestType) ? RULES[requestType] : undefined;
}

/** Faults of given secrets that Apple's schema does not find. */
export function secretFaults(requestType: string, parameters: JsonObject): ErrorDetail[] {
  if (!Object.hasOwn(RULES, requestType)) return [];
  const { PIN: pin } = parameters;
  if (pinFormat(requestType) === undefined) return passwordFaults(parameters);
  if (pin === undefined || (typeof pin === 'string' && PIN.test(pin))) return [];
  const source = { pointer: `${PARAMETERS}/PIN` };
  return [{ detail: NO_PIN, source }];
}

function passwordFaults(parameters: JsonObject): ErrorDetail[] {
  return ['NewPassword', 'CurrentPassword', 'Password'].flatMap((name) => {
    const password = parameters[name];
    const source = { pointer: `${PARAMETERS}/${name}` };
    if (name === 'Password' && password === '') return [{ detail: NO_PASSWORD, source }];
    if (typeof password !== 'string' || password.length <= MAX_PASSWORD) return [];
    const detail = `${name} must have at most ${MAX_PASSWORD} characters`;
    return [{ detail, source }];
  });
}

/** An empty password clears the lock: an empty row says that there is none. */
function seal(
  box: SecretBox,
  { deviceId, kind, value }: { deviceId: number; kind: CommandSecretKind; value: string },
): SecretOfCommand {
  const label = secretLabel(deviceId, kind);
  const plain = Buffer.from(value, 'utf8');
  const sealed = value === '' ? Buffer.alloc(0) : box.seal(plain, label);
  return { deviceId, kind, sealed, digest: box.digest(plain, label) };
}
