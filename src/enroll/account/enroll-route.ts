import type { Request, Response } from 'express';
import { toAppError } from '../../db/connection/sqlstate.js';
import { claimAccountRequest } from '../../db/enroll/enrollment-request-repository.js';
import { AppError } from '../../errors.js';
import { type MachineInfo, requireIdentified } from '../../protocol/mdm/machine-info.js';
import { productFacts } from '../device-request.js';
import { createEnrollmentProfile } from '../enrollment-profile.js';
import { queryText, sendProfile } from '../send-profile.js';
import {
  readSignedDeviceInfo,
  requireDeviceSigner,
  type SignedDeviceInfo,
} from '../signed-device-info.js';
import { type AccessToken, bearerToken } from './access-token.js';
import {
  type EnrollmentMode,
  enrollingAccount,
  methodOf,
  requireAccountAllowed,
  requireOffered,
} from './admission.js';
import type { AccountServices } from './services.js';

/** Lifetime of the request and of the challenge in its profile: the device continues at once. */
const LIFE_MS = 60 * 60_000;

/**
 * Sends the enrollment profile to a device whose user has signed in; any other device is answered 401
 * with the URL of the sign-in.
 */
export async function enrollAccount(
  req: Request,
  res: Response,
  services: AccountServices,
): Promise<void> {
  requireOffered(services);
  const mode = modeOf(req);
  const device = checkDevice(await readSignedDeviceInfo(req, services), mode, services);
  const bearer = bearerToken(req.get('authorization'));
  const token = bearer === undefined ? undefined : services.tokens.read(bearer);
  if (token === undefined) {
    requestSignIn(res, services, bearer === undefined ? 'no token' : 'the token is not valid');
    return;
  }
  await requireMode(services, token, mode);
  const requestId = await claim(services, device, token);
  if (requestId === undefined) requestSignIn(res, services, 'the token was used before');
  else
    await sendEnrollmentProfile(
      { req, res },
      { requestId, token, serial: device.info.serial },
      services,
    );
}

function modeOf(req: Request): EnrollmentMode {
  const mode = queryText(req, 'mode');
  if (mode === 'byod' || mode === 'adde') return mode;
  throw new AppError('invalid_parameter', 400, 'mode must be byod or adde');
}

/**
 * The account authenticates the request. Identifiers that a device sends are accepted only if signed with
 * Apple's device certificate; those of a personal device (BYOD) are not stored.
 */
function checkDevice(
  signed: SignedDeviceInfo,
  mode: EnrollmentMode,
  services: AccountServices,
): SignedDeviceInfo {
  const { info } = signed;
  const claimed = mode === 'adde' ? requireIdentified(info) : info;
  if (claimed.udid !== undefined || claimed.serial !== undefined) {
    requireDeviceSigner(signed, services);
  }
  return { ...signed, info: mode === 'byod' ? anonymous(info) : info };
}

function anonymous(info: MachineInfo): MachineInfo {
  const { udid: _udid, serial: _serial, imei: _imei, meid: _meid, ...rest } = info;
  return rest;
}

function requestSignIn(
  res: Response,
  { publicUrl, logger }: AccountServices,
  reason: string,
): void {
  logger.info({ reason }, 'a device was asked to sign its user in');
  const url = `${publicUrl}/enroll/account/login`;
  res.status(401).setHeader('WWW-Authenticate', `Bearer method="apple-as-web", url="${url}"`);
  res.setHeader('Cache-Control', 'no-store');
  res.end();
}

/** The account's own mode may have changed, or the account been disabled, since the sign-in. */
async function requireMode(
  services: AccountServices,
  token: AccessToken,
  mode: EnrollmentMode,
): Promise<void> {
  const admitted = await requireAccountAllowed(services, token.account);
  if (token.mode === mode && admitted === mode) return;
  throw new AppError('enrollment_closed', 403, `this account does not enroll as ${mode}`);
}

async function claim(
  { db }: AccountServices,
  signed: SignedDeviceInfo,
  { account, mode, nonce }: AccessToken,
): Promise<number | undefined> {
  try {
    return await claimAccountRequest(db.knex, {
      method: methodOf(mode),
      ...productFacts(signed.info, signed),
      account,
      nonce,
      udid: signed.info.udid ?? null,
      serial_number: signed.info.serial ?? null,
      expires_at: new Date(Date.now() + LIFE_MS),
    });
  } catch (error) {
    throw toAppError(error);
  }
}

async function sendEnrollmentProfile(
  http: { req: Request; res: Response },
  {
    requestId,
    token,
    serial,
  }: { requestId: number; token: AccessToken; serial?: string | undefined },
  services: AccountServices,
): Promise<void> {
  const { account, mode } = token;
  const profile = await createEnrollmentProfile(services, {
    challenge: { requestId, expiresAt: new Date(Date.now() + LIFE_MS) },
    account: enrollingAccount(mode, account),
    serial,
  });
  services.logger.info({ account, mode, requestId }, 'a device may enroll with an account');
  sendProfile(http, { profile, filename: 'enroll.mobileconfig' }, services);
}
