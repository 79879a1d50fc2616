import { inTransaction } from '../db/connection/unit-of-work.js';
import type { Authenticated, HeldEnrollment } from '../db/device-path/authenticate.js';
import type { AuthenticateFacts } from '../db/device-path/authenticate-message.js';
import { removeUdid } from '../db/device-path/device-move.js';
import type { CallerKey } from '../db/device-path/token-update.js';
import { mergeSpareRecords, type Reseal } from '../db/devices/device-merge.js';
import type { ReplacedEnrollment } from '../db/enroll/replaced-enrollment.js';
import { AppError } from '../errors.js';
import { renewalTime } from '../pki/authority/authority.js';
import { readCell } from '../protocol/mdm/cell-label.js';
import type { AuthenticateMessage, CheckInMessage } from '../protocol/mdm/mdm-messages.js';
import { type Answer, EMPTY } from './answer.js';
import type { Identity } from './identity.js';
import { platformOf } from './platform.js';
import type { MdmServices } from './services.js';

/** UDIDs are kept as sent and compared without regard to case. */
export function deviceKeyOf(message: CheckInMessage): string {
  return message.ids.deviceKey.toLowerCase();
}

/** Of what is remembered between an Authenticate and its TokenUpdate. */
export function authenticationKey({ fingerprint, deviceKey }: CallerKey): string {
  return `${fingerprint.toString('latin1')} ${deviceKey}`;
}

const UNPROVEN =
  'an enrolled device with another UDID has proved its serial number; if this is the same one, enroll ' +
  'it automated or over the air, or delete the record first';

/** Who sent a check-in, and to which URL. */
export interface CheckInSender {
  identity: Identity;
  url: string | undefined;
}

const REPLACED =
  'a new enrollment replaced a live one: check that the device itself enrolled again ' +
  '(docs/enrollment.md)';

/** Begins an enrollment, or goes on with the one that the certificate belongs to. */
export async function authenticate(
  message: AuthenticateMessage,
  { identity, url }: CheckInSender,
  services: MdmServices,
): Promise<Answer> {
  if (message.ids.channel === 'user') {
    throw new AppError('invalid_message', 400, 'Authenticate of a user');
  }
  const facts = { ...factsOf(message, identity), cell: readCell(url) };
  const authenticated = await enroll(facts, services);
  const { outcome, device, spareId } = authenticated;
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
  if (outcome === 'enrolling') services.authenticated.set(authenticationKey(who), device);
  services.logger.info({ deviceId, outcome }, 'device authenticated');
  warnOfReplaced(authenticated.replaced, deviceId, services);
  if (spareId !== null) await mergeSpares(deviceId, services);
  return EMPTY;
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

/** Apple's are in capitals; records are found by them. */
function serialOf(told: string | undefined): string | null {
  const serial = told?.trim();
  if (serial === undefined || serial === '') return null;
  return /^[a-z0-9]+$/i.test(serial) ? serial.toUpperCase() : serial;
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
    serialNumber: serialOf(message.serialNumber),
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

/** A board that comes with the serial number of another record leaves the one that had its UDID. */
async function enroll(facts: AuthenticateFacts, services: MdmServices): Promise<Authenticated> {
  const { checkIns, db, logger } = services;
  const first = await checkIns.authenticate(facts);
  const { outcome, namedId: id, method, isProven } = first;
  if (outcome !== 'moving' || id === null || facts.udid === null) return first;
  const { udid } = facts;
  const fingerprint = facts.fingerprint.toString('hex');
  const move = { id, udid, method, isProven, fingerprint };
  const replaced = await inTransaction(db, (trx) => removeUdid(trx, move));
  logger.info({ deviceId: id }, 'the board of a device is in another one now');
  warnOfReplaced(replaced, id, services);
  return await checkIns.authenticate(facts);
}

/** It may be the same device that enrolled again, or another one that names its UDID. */
function warnOfReplaced(
  replaced: ReplacedEnrollment | null,
  deviceId: number,
  { logger }: MdmServices,
): void {
  if (replaced === null) return;
  logger.warn({ deviceId, ...replaced }, REPLACED);
}

/** The device has enrolled whatever becomes of this: its next inventory merges them too. */
async function mergeSpares(deviceId: number, { db, box, logger }: MdmServices): Promise<void> {
  const reseal: Reseal = (sealed, from, to) => box.seal(box.open(sealed, from), to);
  try {
    const merged = await inTransaction(db, (trx) => mergeSpareRecords(trx, deviceId, reseal));
    if (merged.length > 0) logger.info({ deviceId, merged }, 'records of one device were merged');
  } catch (err) {
    logger.warn({ err, deviceId }, 'records of one device could not be merged yet');
  }
}
