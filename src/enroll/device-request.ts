import { toAppError } from '../db/connection/sqlstate.js';
import { findDepDevice } from '../db/dep/dep-device-repository.js';
import type { EnrollmentRequest } from '../db/enroll/enrollment-request-repository.js';
import type { IdentifiedMachine, MachineInfo } from '../protocol/mdm/machine-info.js';
import type { Admission } from './enrollment-policy.js';
import type { EnrollServices } from './services.js';
import type { SignedDeviceInfo } from './signed-device-info.js';

/** A device that has just got its profile installs it. */
const REQUEST_LIFE_MS = 60 * 60 * 1000;

/** When a request of now ends. */
export function requestEnd(): Date {
  return new Date(Date.now() + REQUEST_LIFE_MS);
}

/** What a device has proved of itself, as it is kept in its request. */
export function deviceFacts(info: IdentifiedMachine, signed: SignedDeviceInfo) {
  const { udid, serial: serial_number } = info;
  return {
    ...productFacts(info, signed),
    udid,
    serial_number,
  } satisfies Partial<EnrollmentRequest>;
}

/** The same without which device it is. */
export function productFacts(info: MachineInfo, { signer }: SignedDeviceInfo) {
  return {
    product_name: info.product ?? null,
    os_version: info.osVersion ?? null,
    build_version: info.version ?? null,
    imei: info.imei ?? null,
    meid: info.meid ?? null,
    language: info.language ?? null,
    signer: signer.fingerprint,
  } satisfies Partial<EnrollmentRequest>;
}

type PolicyServices = Pick<EnrollServices, 'db' | 'policy'>;

/**
 * Where strangers need a link, those that Apple's program knows need none. AppError 403 when closed.
 */
async function isKnownToDep(serial: string, { db, policy }: PolicyServices): Promise<boolean> {
  policy.requireNotClosed();
  if (policy.isOpen) return false;
  try {
    return (await findDepDevice(db.knex, serial)).is_known;
  } catch (error) {
    throw toAppError(error);
  }
}

/** By its link, if it has one. AppError enrollment_closed 403. */
export async function requireDeviceAllowed(
  { serial }: IdentifiedMachine,
  token: string | undefined,
  services: PolicyServices,
): Promise<Admission> {
  if (token === undefined && (await isKnownToDep(serial, services))) return {};
  return await services.policy.requireAllowed(token);
}

/** One that was admitted when it began. AppError enrollment_closed 403. */
export async function requireDeviceStillAllowed(
  { serial }: IdentifiedMachine,
  admitted: Admission & { isCounted?: boolean },
  services: PolicyServices,
): Promise<void> {
  const { isCounted = false, ...by } = admitted;
  if (by.linkId === undefined && (await isKnownToDep(serial, services))) return;
  await services.policy.requireStillAllowed(by, { isCounted });
}
