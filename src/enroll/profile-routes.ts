import { type Request, type Response, Router } from 'express';
import { createEnrollmentProfile } from './enrollment-profile.js';
import { methodNotAllowed } from './method-not-allowed.js';
import { queryText, sendProfile } from './send-profile.js';
import type { EnrollServices } from './services.js';

/** The enrollment profile for whoever may enroll. */
export function createProfileRoutes(services: EnrollServices): Router {
  const router = Router();
  router.get('/profile', (req, res) => giveProfile(req, res, services));
  router.all('/profile', methodNotAllowed('GET, HEAD'));
  return router;
}

async function giveProfile(req: Request, res: Response, services: EnrollServices): Promise<void> {
  const { linkId } = await services.policy.admit(queryText(req, 'token'));
  const profile = await createEnrollmentProfile(services, {
    challenge: linkId === undefined ? {} : { linkId },
  });
  sendProfile({ req, res }, { profile, filename: 'enroll.mobileconfig' }, services);
}
