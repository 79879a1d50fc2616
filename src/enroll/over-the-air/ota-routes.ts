import { type Request, type Response, Router } from 'express';
import { buildProfileService } from '../../protocol/profiles/ota-profiles.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import { queryText, sendProfile } from '../send-profile.js';
import type { EnrollServices } from '../services.js';
import { readSignedDeviceInfo } from '../signed-device-info.js';
import { continueExchange, readOtaSettings } from './ota-exchange.js';

/** Enrollment over the air. */
export function createOtaRoutes(services: EnrollServices): Router {
  const router = Router();
  router.get('/ota', (req, res) => sendProfileService(req, res, services));
  router.all('/ota', methodNotAllowed('GET, HEAD'));
  router.post('/ota_authenticate', async (req, res) => {
    const profile = await continueExchange(await readSignedDeviceInfo(req, services), services);
    sendProfile({ req, res }, { profile, filename: 'enroll.mobileconfig' }, services);
  });
  router.all('/ota_authenticate', methodNotAllowed('POST'));
  return router;
}

async function sendProfileService(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const { policy, otaChallenges, publicUrl } = services;
  const { linkId } = await policy.requireAllowed(queryText(req, 'token'));
  const { organization } = await readOtaSettings(services);
  const profile = buildProfileService({
    organization,
    url: `${publicUrl}/enroll/ota_authenticate`,
    challenge: otaChallenges.issueChallenge({ linkId }),
  });
  sendProfile({ req, res }, { profile, filename: 'ota.mobileconfig' }, services);
}
