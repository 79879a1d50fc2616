import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { SecretBox } from '../crypto/secrets/secret-box.js';
import type { PreparedCommand } from '../db/device-path/token-update.js';
import type { NewCommand } from '../db/devices/command-repository.js';
import type { SharedPayload } from '../db/devices/shared-payloads.js';
import { type ErrorDetail, validationError } from '../errors.js';
import { hasSecrets, jsonToPlist } from '../protocol/apple/command-schema.js';
import {
  buildPlist,
  isPlistDict,
  type PlistDict,
  parsePlistDict,
} from '../protocol/plist/plist.js';
import { isPlainProfile } from '../protocol/profiles/plain-profile.js';
import { newCommandUuid } from './command-uuid.js';
import type { PlannedCommand } from './inventory-plan.js';
import { type ValueOptions, valueFaults } from './value-faults.js';

/** Placeholder in stored bodies for the CommandUUID, which is the last value of the plist. */
const NO_UUID = '00000000-0000-0000-0000-000000000000';
/** Sharing a shorter payload would save nothing: it needs a row and a reference. */
const LEAST_SHARED = 1024;
const PARAMETERS = '/data/attributes/parameters';

/** The verdicts on profiles that were seen lately, by their SHA-256. */
const plainProfiles = new LRUCache<string, boolean>({ max: 1000 });

/** Label under which every shared payload that may hold a secret is sealed. */
const SHARED_LABEL = 'command_payloads';

interface CommandContent {
  uuid: string;
  requestType: string;
  parameters: PlistDict;
}

/** The stored payload of a command: its own bytes, or a body that equal commands share. */
export type StoredPayload =
  | { payload: Buffer; shared?: undefined }
  | { payload: null; shared: SharedPayload };

/** The payload to store; shared if it is long enough and certain to hold no secret. */
export function storablePayload(
  box: SecretBox,
  command: CommandContent,
  { mayShare }: { mayShare: boolean },
): StoredPayload {
  const body = bodyOf(command);
  if (!mayShare || body.length < LEAST_SHARED || !isShareable(command.parameters)) {
    return { payload: ownPayload(box, command, body) };
  }
  return { payload: null, shared: { sha256: sha256Of(body), body } };
}

/**
 * The payload of a command that many devices get: the plist with zeros for the CommandUUID, or a payload that
 * they share. Undefined for one that is sealed for each command.
 */
export function payloadTemplate(
  command: Omit<CommandContent, 'uuid'>,
  { mayShare }: { mayShare: boolean },
): { body: string; shared?: undefined } | { body?: undefined; shared: SharedPayload } | undefined {
  const body = bodyOf(command);
  if (mayShare && body.length >= LEAST_SHARED && isShareable(command.parameters)) {
    return { shared: { sha256: sha256Of(body), body } };
  }
  return hasSecrets(command.parameters) ? undefined : { body: body.toString() };
}

/** The plists of planned commands, each of which many devices get. */
const bodies = new WeakMap<PlannedCommand, SharedPayload>();

function bodyOfPlanned(planned: PlannedCommand): SharedPayload {
  const known = bodies.get(planned);
  if (known !== undefined) return known;
  const body = bodyOf(planned);
  const made = { body, sha256: sha256Of(body) };
  bodies.set(planned, made);
  return made;
}

/** A command under a new CommandUUID, ready for the queue; its payload is not shared. */
export function prepareCommand(box: SecretBox, planned: PlannedCommand): PreparedCommand {
  const uuid = newCommandUuid();
  const { body, sha256 } = bodyOfPlanned(planned);
  const payload = ownPayload(box, { uuid, ...planned }, body);
  return { uuid, requestType: planned.requestType, payload, sha256 };
}

export type Owner = { deviceId: number; userId?: number };

/**
 * The row of a command of the inventory, for the device or for a user of it. A fleet gets few different
 * ones, each day anew: shared, they are a third of the size for as long as they are kept.
 */
export function scheduledCommand(
  box: SecretBox,
  { deviceId, userId }: Owner,
  { planned, mayShare }: { planned: PlannedCommand; mayShare: boolean },
): NewCommand {
  const uuid = newCommandUuid();
  const shared = bodyOfPlanned(planned);
  const payload = mayShare ? null : ownPayload(box, { uuid, ...planned }, shared.body);
  return {
    uuid,
    device_id: deviceId,
    device_user_id: userId ?? null,
    request_type: planned.requestType,
    payload,
    shared: mayShare ? shared : undefined,
    scheduled_sha256: shared.sha256,
  };
}

/** Sealed when a parameter is a secret. */
function ownPayload(box: SecretBox, { uuid, parameters }: CommandContent, body: Buffer): Buffer {
  const plist = withUuid(body, uuid);
  return hasSecrets(parameters) ? box.seal(plist, labelOf(uuid, 'payload')) : plist;
}

/**
 * The payload of InstallProfile, shared by all devices that get this profile. Unless it is certain to
 * hold no secret it is sealed, under a digest that says nothing without the master key.
 */
export function profilePayload(box: SecretBox, profile: Buffer): SharedPayload {
  const parameters = { Payload: profile };
  const body = bodyOf({ requestType: 'InstallProfile', parameters });
  if (isShareable(parameters)) return { sha256: sha256Of(body), body };
  return { sha256: box.digest(body, SHARED_LABEL), body: box.seal(body, SHARED_LABEL) };
}

/** The plist that installs a profile made for one device; the queue never has it. */
export function installCommand(uuid: string, profile: Buffer): Buffer {
  const Command = { Payload: profile, RequestType: 'InstallProfile' };
  return buildPlist({ Command, CommandUUID: uuid });
}

/** A copy of the plist that commands share, without a CommandUUID. */
export function openShared(box: SecretBox, payload: Buffer): Buffer {
  return SecretBox.isSealed(payload) ? box.open(payload, SHARED_LABEL) : Buffer.from(payload);
}

/** The profile in a plist of InstallProfile. */
export function profileIn(plist: Buffer): Buffer {
  const { Command } = parsePlistDict(plist);
  const profile = isPlistDict(Command) ? Command.Payload : undefined;
  if (!Buffer.isBuffer(profile)) throw new Error('a shared InstallProfile has no profile');
  return profile;
}

/** The plist of RemoveProfile for any profile: IDENTIFIER and NO_UUID stand for its own. */
export const PROFILE_REMOVAL = profileRemoval('IDENTIFIER');

/** The same for one profile; NO_UUID stands for the command's own. */
export function profileRemoval(identifier: string): string {
  return bodyOf({
    requestType: 'RemoveProfile',
    parameters: { Identifier: identifier },
  }).toString();
}

function bodyOf({ requestType, parameters }: Omit<CommandContent, 'uuid'>): Buffer {
  return buildPlist({
    Command: { ...parameters, RequestType: requestType },
    CommandUUID: NO_UUID,
  });
}

function sha256Of(body: Buffer): Buffer {
  return createHash('sha256').update(body).digest();
}

/** A copy of the body with the CommandUUID. */
function withUuid(body: Buffer, uuid: string): Buffer {
  const plist = Buffer.from(body);
  plist.write(uuid, plist.lastIndexOf(NO_UUID), 'latin1');
  return plist;
}

/**
 * A profile counts as a secret, unless it is certain to hold none. Anything else is shared if none of
 * its keys names a secret, in which case it was never sealed.
 */
function isShareable({ Payload: profile, ...others }: PlistDict): boolean {
  if (hasSecrets(others)) return false;
  if (profile === undefined) return true;
  if (!Buffer.isBuffer(profile)) return false;
  const key = createHash('sha256').update(profile).digest('base64');
  const known = plainProfiles.get(key);
  if (known !== undefined) return known;
  const isPlain = isPlainProfile(profile);
  plainProfiles.set(key, isPlain);
  return isPlain;
}

/** The plist that is sent to the device. `payload` is its own, or the body that it shares. */
export function openPayload(
  box: SecretBox,
  { uuid, payload, isShared }: { uuid: string; payload: Buffer; isShared?: boolean },
): Buffer {
  if (isShared) {
    return withUuid(SecretBox.isSealed(payload) ? box.open(payload, SHARED_LABEL) : payload, uuid);
  }
  return SecretBox.isSealed(payload) ? box.open(payload, labelOf(uuid, 'payload')) : payload;
}

/** The Command dictionary of a stored payload or shared body, less RequestType. */
export function readParameters(
  box: SecretBox,
  command: { uuid: string; payload: Buffer; isShared?: boolean },
): PlistDict {
  return parametersIn(openPayload(box, command));
}

/** The Command dictionary of a plist that is sent, less RequestType. */
export function parametersIn(plist: Buffer): PlistDict {
  const { Command } = parsePlistDict(plist);
  if (!isPlistDict(Command)) return {};
  const { RequestType: _, ...parameters } = Command;
  return parameters;
}

/** The bytes of a report for the database, sealed when it holds a secret. */
export function sealReport(
  box: SecretBox,
  report: { commandUuid: string; raw: Buffer; holdsSecrets: boolean },
): Buffer {
  if (!report.holdsSecrets) return report.raw;
  return box.seal(report.raw, labelOf(report.commandUuid, 'result'));
}

/** The bytes of a stored report, as the device sent them. */
export function openReport(box: SecretBox, command: { uuid: string; result: Buffer }): Buffer {
  const { uuid, result } = command;
  return SecretBox.isSealed(result) ? box.open(result, labelOf(uuid, 'result')) : result;
}

/**
 * Parameters of the API (data as base64, dates as ISO 8601) as plist values. AppError 422 with every
 * fault.
 */
export function readJsonParameters(requestType: string, parameters: unknown): PlistDict {
  const { value, faults } = checkJsonParameters(requestType, parameters);
  if (faults.length > 0) throw validationError(faults);
  return value;
}

/** As readJsonParameters, with the faults as a list; `value` is valid only if that is empty. */
export function checkJsonParameters(
  requestType: string,
  parameters: unknown,
  options: ValueOptions = {},
): { value: PlistDict; faults: ErrorDetail[] } {
  const { value, faults } = jsonToPlist(requestType, parameters);
  const faulty = faults.flatMap(({ source }) => source?.pointer ?? []);
  const found = [...faults, ...valueFaults(requestType, value, { ...options, faulty })];
  const hint = Object.hasOwn(HINTS, requestType) ? HINTS[requestType] : undefined;
  if (requestType === 'AccountConfiguration') return { value, faults: found.map(ofAccount) };
  return { value, faults: hint === undefined ? found : found.map((one) => withHint(one, hint)) };
}

interface Hint {
  key: string;
  /** Follows the fault that the key is missing. */
  text: string;
}

const UNKNOWN_PASSWORD = 'no password of this device is known, so name the one to verify';

const HINTS: Record<string, Hint> = {
  ClearPasscode: {
    key: 'UnlockToken',
    text: '/devices/{id}/clear_passcode uses the one that the device has escrowed',
  },
  VerifyRecoveryLock: { key: 'Password', text: UNKNOWN_PASSWORD },
  VerifyFirmwarePassword: { key: 'Password', text: UNKNOWN_PASSWORD },
};

function withHint(fault: ErrorDetail, { key, text }: Hint): ErrorDetail {
  const isMissing = fault.detail === `${key} is required`;
  if (!isMissing && key !== 'UnlockToken') return fault;
  if (fault.source?.pointer !== `${PARAMETERS}/${key}`) return fault;
  return { ...fault, detail: `${fault.detail}; ${text}` };
}

const FURTHER_PASSWORD = new RegExp(`^${PARAMETERS}/AutoSetupAdminAccounts/[1-9][0-9]*/password$`);
const NO_FURTHER_PASSWORD =
  'only the password of the first account is taken; name the passwordHash of the others';

/** Apple's schema has no password: Muster takes that of the first account. */
function ofAccount(fault: ErrorDetail): ErrorDetail {
  const isFurther = FURTHER_PASSWORD.test(fault.source?.pointer ?? '');
  return isFurther ? { ...fault, detail: NO_FURTHER_PASSWORD } : fault;
}

/** What a sealed part of a command is bound to. */
function labelOf(uuid: string, part: 'payload' | 'result'): string {
  return `commands/${uuid}/${part}`;
}
