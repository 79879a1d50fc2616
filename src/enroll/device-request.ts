import { toAppError } from '../db/connection/sqlstate.js';
import { findDepDevice } from '../db/dep/dep-device-repository.js';
import type { EnrollmentRequest } from '../db/enroll/enrollment-request-repository.js';
import type { IdentifiedMachine, MachineInfo } from '../protocol/mdm/machine-info.js';
import type { Admission } from './enrollment-policy.js';
import type { EnrollServices } from './services.js';
import type { SignedDeviceInfo } from './signed-device-info.js';

/** A device installs its profile right after it has received it. */
const REQUEST_LIFE_MS = 60 * 60 * 1000;

/** Expiry of a request made now. */
export function requestEnd(): Date {
  return new Date(Date.now() + REQUEST_LIFE_MS);
}

/** What a device has proven about itself, by the columns of its enrollment request. */
export function deviceFacts(info: IdentifiedMachine, signed: SignedDeviceInfo) {
  const { udid, serial: serial_number } = info;
  return {
    ...productFacts(info, signed),
    udid,
    serial_number,
  } satisfies Partial<EnrollmentRequest>;
}

/** Like deviceFacts, without the identifiers of the device. */
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

/** AppError enrollment_closed 403 unless the device is known from DEP or has a valid link. */
export async function requireDeviceAllowed(
  { serial }: IdentifiedMachine,
  token: string | undefined,
  services: PolicyServices,
): Promise<Admission> {
  if (token === undefined && (await isKnownToDep(serial, services))) return {};
  return await services.policy.requireAllowed(token);
}

/** Checks again a device that was allowed when it began. AppError enrollment_closed 403. */
export async function requireDeviceStillAllowed(
  { serial }: IdentifiedMachine,
  admission: Admission & { isCounted?: boolean },
  services: PolicyServices,
): Promise<void> {
  const { isCounted = false, ...by } = admission;
  if (by.linkId === undefined && (await isKnownToDep(serial, services))) return;
  await services.policy.requireStillAllowed(by, { isCounted });
}

/** With ENROLLMENT=link, devices known from DEP need no link. AppError 403 when closed. */
async function isKnownToDep(serial: string, { db, policy }: PolicyServices): Promise<boolean> {
  policy.requireNotClosed();
  if (policy.isOpen) return false;
  try {
    return (await findDepDevice(db.knex, serial)).is_known;
  } catch (error) {
    throw toAppError(error);
  }
}
