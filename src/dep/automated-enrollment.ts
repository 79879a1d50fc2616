import type { Request, Response } from 'express';
import { insertEnrollmentRequest } from '../db/enrollment-request-repository.js';
import { findProgramDevice, type ProgramDevice } from '../db/program-device-repository.js';
import { toAppError } from '../db/sqlstate.js';
import { createEnrollmentProfile } from '../enroll/enrollment-profile.js';
import { sendProfile } from '../enroll/send-profile.js';
import type { EnrollServices } from '../enroll/services.js';
import { readSignedDeviceInfo, type SignedDeviceInfo } from '../enroll/signed-device-info.js';
import { AppError } from '../errors.js';
import { type IdentifiedMachine, requireIdentified } from '../protocol/machine-info.js';
import { judgeMinimumOs } from './minimum-os.js';
import { sendUpdateRequired } from './update-required.js';

/** As long as a challenge lives. */
const REQUEST_LIFE_MS = 24 * 60 * 60 * 1000;

/** A device that Apple has sent here, with the certificate by which it showed who it is. */
interface AskingDevice {
  info: IdentifiedMachine;
  signer: Buffer;
}

/** Answers a device in Setup Assistant that Apple's enrollment program has sent to this server. */
export async function enrollAutomatically(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const device = readDevice(await readSignedDeviceInfo(req), services);
  services.policy.admitKnown();
  const program = await find(device, services);
  refuseUnknown(device.info, program, services);
  const verdict = judgeMinimumOs(device.info, program);
  const { serial, product, osVersion } = device.info;
  const about = { serial, product, osVersion };
  if (verdict.kind === 'update') {
    const { version } = verdict;
    services.logger.info({ ...about, minimum: version }, 'a device has to update to enroll');
    sendUpdateRequired(res, version);
    return;
  }
  const requestId = await store(device, verdict.unmet, services);
  const profile = await createEnrollmentProfile(services, { challenge: { requestId } });
  services.logger.info({ ...about, requestId }, 'a device was given its automated enrollment');
  sendProfile({ req, res }, { profile, filename: 'enroll.mobileconfig' }, services);
}

/** Only what Apple itself has certified counts, or one device could claim to be another. */
function readDevice(
  { info, signer, chain }: SignedDeviceInfo,
  { deviceCas, logger }: EnrollServices,
): AskingDevice {
  const verdict = deviceCas.judge(signer, chain);
  if (!verdict.ok) {
    logger.warn({ issuer: verdict.issuer, serial: info.serial }, 'no device CA has certified this');
    throw new AppError('forbidden', 403, 'the signature is not of an Apple device');
  }
  return { info: requireIdentified(info), signer: signer.fingerprint };
}

async function find({ info }: AskingDevice, { db }: EnrollServices): Promise<ProgramDevice> {
  try {
    return await findProgramDevice(db.knex, info.serial);
  } catch (error) {
    throw toAppError(error);
  }
}

/** Where strangers need a link, nobody could put one into Setup Assistant. */
function refuseUnknown(
  { serial }: IdentifiedMachine,
  { is_known: isKnown, has_accounts: hasAccounts }: ProgramDevice,
  { config }: EnrollServices,
): void {
  const isAsked = config.enrollment === 'link' || (config.adeOnlyKnown ?? hasAccounts);
  if (isKnown || !isAsked) return;
  const message =
    `serial number ${serial} is not known from the enrollment program: assign the device to ` +
    'this server at Apple, sync the account, or mark the device with is_dep';
  throw new AppError('forbidden', 403, message);
}

async function store(
  { info, signer }: AskingDevice,
  unmet: string | null,
  { db }: EnrollServices,
): Promise<number> {
  try {
    return await insertEnrollmentRequest(db.knex, {
      method: 'automated',
      udid: info.udid,
      serial_number: info.serial,
      product_name: info.product ?? null,
      os_version: info.osVersion ?? null,
      build_version: info.version ?? null,
      imei: info.imei ?? null,
      meid: info.meid ?? null,
      language: info.language ?? null,
      unmet_minimum_os_version: unmet,
      signer,
      expires_at: new Date(Date.now() + REQUEST_LIFE_MS),
    });
  } catch (error) {
    throw toAppError(error);
  }
}
