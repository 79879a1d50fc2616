import { inTransaction } from '../db/connection/unit-of-work.js';
import type { Authenticated, HeldEnrollment } from '../db/device-path/authenticate.js';
import type { AuthenticateFacts } from '../db/device-path/authenticate-message.js';
import { removeUdid } from '../db/device-path/device-move.js';
import type { CallerKey } from '../db/device-path/token-update.js';
import { mergeDuplicateRecords, type Reseal } from '../db/devices/device-merge.js';
import type { ReplacedEnrollment } from '../db/enroll/replaced-enrollment.js';
import { AppError } from '../errors.js';
import { renewalTime } from '../pki/authority/authority.js';
import type { Platform } from '../protocol/apple/schema-types.js';
import { readCell } from '../protocol/mdm/cell-label.js';
import type { AuthenticateMessage, CheckInMessage } from '../protocol/mdm/mdm-messages.js';
import { type Answer, EMPTY } from './answer.js';
import type { Identity } from './identity.js';
import type { MdmServices } from './services.js';

const UNPROVEN =
  'an enrolled device with another UDID has proved its serial number; if this is the same one, enroll ' +
  'it automated or over the air, or delete the record first';

const REPLACED =
  'a new enrollment replaced a live one: check that the device itself enrolled again ' +
  '(docs/enrollment.md)';

/** The sender of a check-in, and the URL that it was sent to. */
export interface CheckInSender {
  identity: Identity;
  url: string | undefined;
}

/** Begins an enrollment, or continues the one that the certificate belongs to. */
export async function answerAuthenticate(
  message: AuthenticateMessage,
  { identity, url }: CheckInSender,
  services: MdmServices,
): Promise<Answer> {
  if (message.ids.channel === 'user') {
    throw new AppError('invalid_message', 400, 'Authenticate of a user');
  }
  const facts = { ...factsOf(message, identity), cell: readCell(url) };
  const authenticated = await enroll(facts, services);
  const { outcome, device, duplicateId } = authenticated;
  if (outcome === 'raced') {
    throw new AppError('unavailable', 503, 'the same device authenticated twice at once');
  }
  if (outcome === 'closed') throw new AppError('enrollment_closed', 403, 'enrollment is closed');
  if (authenticated.held !== null) throw heldError(authenticated.held, services);
  if (device === null) {
    const why = outcome === 'unproven_serial' ? UNPROVEN : outcome;
    throw new AppError('forbidden', 403, `the certificate may not enroll this device: ${why}`);
  }
  const { deviceId } = device;
  const who = { fingerprint: identity.fingerprint, deviceKey: deviceKeyOf(message) };
  if (outcome === 'enrolling') services.recentAuthenticates.set(recentKey(who), device);
  services.logger.info({ deviceId, outcome }, 'device authenticated');
  warnOfReplaced(authenticated.replaced, deviceId, services);
  if (duplicateId !== null) await mergeDuplicates(deviceId, services);
  return EMPTY;
}

/** UDIDs are stored as sent and compared without regard to case. */
export function deviceKeyOf(message: CheckInMessage): string {
  return message.ids.deviceKey.toLowerCase();
}

/** The key of `recentAuthenticates`. */
export function recentKey({ fingerprint, deviceKey }: CallerKey): string {
  return `${fingerprint.toString('latin1')} ${deviceKey}`;
}

function factsOf(
  message: AuthenticateMessage,
  identity: Identity,
): Omit<AuthenticateFacts, 'cell'> {
  const { ids, productName, model, modelName } = message;
  return {
    ...identity,
    renewAt: renewalTime(identity),
    udid: ids.udid ?? null,
    enrollmentId: ids.udid === undefined ? (ids.enrollmentId ?? null) : null,
    topic: message.topic ?? null,
    platform: platformOf([productName, model, modelName]),
    serialNumber: normalizedSerial(message.serialNumber),
    deviceName: message.deviceName ?? null,
    model: model ?? null,
    modelName: modelName ?? null,
    productName: productName ?? null,
    osVersion: message.osVersion ?? null,
    buildVersion: message.buildVersion ?? null,
    imei: message.imei ?? null,
    meid: message.meid ?? null,
  };
}

/** Apple's serial numbers are in capitals, and records are found by them. */
function normalizedSerial(reported: string | undefined): string | null {
  const serial = reported?.trim();
  if (serial === undefined || serial === '') return null;
  return /^[a-z0-9]+$/i.test(serial) ? serial.toUpperCase() : serial;
}

/** Apple's product families by the start of ProductName, Model or ModelName. */
const FAMILIES: readonly (readonly [RegExp, Platform])[] = [
  [/^(iPhone|iPad|iPod)/i, 'iOS'],
  [/^(Mac|iMac|Xserve|VirtualMac)/i, 'macOS'],
  [/^(AppleTV|Apple TV)/i, 'tvOS'],
  [/^(RealityDevice|Apple Vision|Vision Pro)/i, 'visionOS'],
  [/^(Watch|Apple Watch)/i, 'watchOS'],
];

/** The platform of the first known name; null when none is known. */
function platformOf(names: (string | undefined)[]): Platform | null {
  for (const name of names) {
    const family = FAMILIES.find(([pattern]) => name !== undefined && pattern.test(name));
    if (family !== undefined) return family[1];
  }
  return null;
}

/**
 * A UDID belongs to the logic board. When it arrives with the serial number of another record, the
 * board was moved: the record that had the UDID loses it first.
 */
async function enroll(facts: AuthenticateFacts, services: MdmServices): Promise<Authenticated> {
  const { checkIns, db, logger } = services;
  const first = await checkIns.authenticate(facts);
  const { outcome, namedId: id, method, isProven } = first;
  if (outcome !== 'moving' || id === null || facts.udid === null) return first;
  const { udid } = facts;
  const fingerprint = facts.fingerprint.toString('hex');
  const move = { id, udid, method, isProven, fingerprint };
  const replaced = await inTransaction(db, (trx) => removeUdid(trx, move));
  logger.info({ deviceId: id }, 'the logic board of another device moved to this one');
  warnOfReplaced(replaced, id, services);
  return await checkIns.authenticate(facts);
}

/** Logs the first attempt of each certificate as a warning. The answer has no body of Apple's. */
function heldError(
  { requestId, deviceId, attempts }: HeldEnrollment,
  { logger }: MdmServices,
): AppError {
  const about = { requestId, deviceId };
  if (attempts === 1) logger.warn(about, 'an enrolled device wants to enroll again without proof');
  const message =
    `device ${deviceId} is enrolled and REPLACE_ENROLLED=hold; if it is to enroll again, an admin ` +
    `approves it: POST /api/v1/enrollment_requests/${requestId}/approve`;
  return new AppError('forbidden', 403, message, { about });
}

/** Either the same device enrolled again, or another one that claims its UDID. */
function warnOfReplaced(
  replaced: ReplacedEnrollment | null,
  deviceId: number,
  { logger }: MdmServices,
): void {
  if (replaced === null) return;
  logger.warn({ deviceId, ...replaced }, REPLACED);
}

/** A failure does not fail the enrollment: the next inventory merges the records too. */
async function mergeDuplicates(deviceId: number, { db, box, logger }: MdmServices): Promise<void> {
  const reseal: Reseal = (sealed, from, to) => box.seal(box.open(sealed, from), to);
  try {
    const merged = await inTransaction(db, (trx) => mergeDuplicateRecords(trx, [deviceId], reseal));
    if (merged.length > 0) logger.info({ deviceId, merged }, 'records of one device were merged');
  } catch (err) {
    logger.warn({ err, deviceId }, 'records of one device could not be merged yet');
  }
}
