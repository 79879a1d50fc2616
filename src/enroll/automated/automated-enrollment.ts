import type { Request, Response } from 'express';
import { toAppError } from '../../db/connection/sqlstate.js';
import {
  type DepDevice,
  findDepDevice,
  insertAutomatedRequest,
  storeRefusedContact,
} from '../../db/dep/dep-device-repository.js';

import type { EnrollmentRequest } from '../../db/enroll/enrollment-request-repository.js';
import { AppError } from '../../errors.js';
import { type IdentifiedMachine, requireIdentified } from '../../protocol/mdm/machine-info.js';
import { deviceFacts } from '../device-request.js';
import { createEnrollmentProfile } from '../enrollment-profile.js';
import { sendProfile } from '../send-profile.js';
import type { EnrollServices } from '../services.js';
import {
  readSignedDeviceInfo,
  refuseChallengeAnswer,
  requireDeviceSigner,
} from '../signed-device-info.js';

import { judgeMinimumOs, sendUpdateRequired } from './minimum-os.js';

/** As long as a challenge lives. */
const REQUEST_LIFE_MS = 24 * 60 * 60 * 1000;

/** Answers a device in Setup Assistant that Apple's enrollment program has sent to this server. */
export async function enrollAutomatically(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const signed = await readSignedDeviceInfo(req, services);
  requireDeviceSigner(signed, services);
  const info = requireIdentified(signed.info);
  refuseChallengeAnswer(info);
  const dep = await requireAllowedDevice(info, services);
  const verdict = judgeMinimumOs(info, dep);
  const { serial, product, osVersion } = info;
  const about = { serial, product, osVersion };
  if (verdict.kind === 'update') {
    const { version } = verdict;
    services.logger.info({ ...about, minimum: version }, 'a device has to update to enroll');
    await recordOnDevice(
      serial,
      `it was told to update to ${version} first; it has ${osVersion ?? 'an older one'}`,
      services,
    );
    sendUpdateRequired(res, version);
    return;
  }
  const facts = deviceFacts(info, signed);
  const requestId = await storeRequest(
    { ...facts, unmet_minimum_os_version: verdict.unmet },
    services,
  );
  const profile = await createEnrollmentProfile(services, { challenge: { requestId }, serial });
  services.logger.info({ ...about, requestId }, 'a device was given its automated enrollment');
  sendProfile({ req, res }, { profile, filename: 'enroll.mobileconfig' }, services);
}

async function requireAllowedDevice(
  info: IdentifiedMachine,
  services: EnrollServices,
): Promise<DepDevice> {
  try {
    services.policy.requireNotClosed();
    const dep = await findDevice(info, services);
    requireKnownDevice(info, dep, services);
    return dep;
  } catch (error) {
    if (error instanceof AppError && error.status === 403) {
      await recordOnDevice(info.serial, `refused: ${error.message}`, services);
    }
    throw error;
  }
}

/** For the admin, at the device's serial number; the device gets its answer whatever comes of it. */
async function recordOnDevice(
  serial: string,
  fault: string,
  { db, logger }: EnrollServices,
): Promise<void> {
  try {
    await storeRefusedContact(db.knex, { serial, fault });
  } catch (error) {
    logger.warn({ err: error, serial }, 'a refused device could not be noted');
  }
}

async function findDevice(
  { serial }: IdentifiedMachine,
  { db }: EnrollServices,
): Promise<DepDevice> {
  try {
    return await findDepDevice(db.knex, serial);
  } catch (error) {
    throw toAppError(error);
  }
}

/** Where strangers need a link, nobody could put one into Setup Assistant. */
function requireKnownDevice(
  { serial }: IdentifiedMachine,
  { is_known: isKnown, has_accounts: hasAccounts }: DepDevice,
  { config }: EnrollServices,
): void {
  const isAsked = config.enrollment === 'link' || (config.adeOnlyKnown ?? hasAccounts);
  if (isKnown || !isAsked) return;
  const message =
    `serial number ${serial} is not known from the enrollment program: assign the device to ` +
    'this server at Apple, sync the account, or mark the device with is_dep';
  throw new AppError('forbidden', 403, message);
}

async function storeRequest(
  facts: Omit<EnrollmentRequest, 'method' | 'expires_at'> & { serial_number: string },
  { db }: EnrollServices,
): Promise<number> {
  const expires_at = new Date(Date.now() + REQUEST_LIFE_MS);
  try {
    return await insertAutomatedRequest(db.knex, { ...facts, method: 'automated', expires_at });
  } catch (error) {
    throw toAppError(error);
  }
}
