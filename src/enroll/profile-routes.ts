import { type Request, type Response, Router } from 'express';
import { toAppError } from '../db/connection/sqlstate.js';
import { insertEnrollmentRequest } from '../db/enroll/enrollment-request-repository.js';
import type { IdentifiedMachine } from '../protocol/mdm/machine-info.js';
import { deviceFacts, requestEnd, requireDeviceAllowed } from './device-request.js';
import { createEnrollmentProfile } from './enrollment-profile.js';
import { methodNotAllowed } from './method-not-allowed.js';
import { queryText, sendProfile } from './send-profile.js';
import type { EnrollServices } from './services.js';
import { readIdentifiedDevice, type SignedDeviceInfo } from './signed-device-info.js';

const FILENAME = 'enroll.mobileconfig';

/** The enrollment profile: GET for any device that may enroll, POST for the device that signed. */
export function createProfileRoutes(services: EnrollServices): Router {
  const router = Router();
  router.get('/profile', (req, res) => sendUnboundProfile(req, res, services));
  router.post('/profile', (req, res) => sendBoundProfile(req, res, services));
  router.all('/profile', methodNotAllowed('GET, HEAD, POST'));
  return router;
}

async function sendUnboundProfile(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const { linkId } = await services.policy.requireAllowed(queryText(req, 'token'));
  const profile = await createEnrollmentProfile(services, {
    challenge: { linkId },
  });
  sendProfile({ req, res }, { profile, filename: FILENAME }, services);
}

/** The device has signed with its Apple certificate, so the profile is bound to it. */
async function sendBoundProfile(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const { signed, info } = await readIdentifiedDevice(req, services);
  const { linkId = null } = await requireDeviceAllowed(info, queryText(req, 'token'), services);
  const challenge = await recordRequest(info, { signed, linkId }, services);
  const profile = await createEnrollmentProfile(services, { challenge, serial: info.serial });
  const { requestId } = challenge;
  services.logger.info({ requestId, serial: info.serial }, 'a device may enroll');
  sendProfile({ req, res }, { profile, filename: FILENAME }, services);
}

async function recordRequest(
  info: IdentifiedMachine,
  { signed, linkId }: { signed: SignedDeviceInfo; linkId: number | null },
  { db }: EnrollServices,
): Promise<{ requestId: number; expiresAt: Date }> {
  const expiresAt = requestEnd();
  const facts = deviceFacts(info, signed);
  const requestId = await insertEnrollmentRequest(db.knex, {
    ...facts,
    method: 'profile',
    enrollment_link_id: linkId,
    expires_at: expiresAt,
  }).catch((error: unknown) => {
    throw toAppError(error);
  });
  return { requestId, expiresAt };
}
