import { Router } from 'express';
import type { Config } from '../config.js';
import { AppError } from '../errors.js';
import { deviceErrorHandler } from '../http/device-errors.js';
import type { Logger } from '../logger.js';
import { createEnrollmentProfile, type EnrollmentProfileDeps } from './enrollment-profile.js';
import type { ProfileSigner } from './profile-signer.js';

export interface EnrollDeps extends EnrollmentProfileDeps {
  policy: Config['enrollment'];
  /** The one of this moment; undefined while the server has no certificate of its own. */
  signer: () => ProfileSigner | undefined;
  logger: Logger;
}

const PROFILE_TYPE = 'application/x-apple-aspen-config';

/** `link` needs a link made by an admin, and none can be made yet, so only `open` lets anyone in. */
function checkPolicy(policy: Config['enrollment']): void {
  if (policy === 'open') return;
  throw new AppError(
    'enrollment_closed',
    403,
    policy === 'link'
      ? 'enrollment needs a valid link from an administrator'
      : 'enrollment is closed on this server',
  );
}

export function createEnrollRouter(deps: EnrollDeps): Router {
  const router = Router();
  router.get('/profile', async (req, res) => {
    checkPolicy(deps.policy);
    const profile = await createEnrollmentProfile(deps);
    const signer = req.query.signed === 'false' ? undefined : deps.signer();
    res.setHeader('Content-Type', PROFILE_TYPE);
    res.setHeader('Content-Disposition', 'attachment; filename="enroll.mobileconfig"');
    res.setHeader('Cache-Control', 'no-store');
    res.end(signer === undefined ? profile : signer.sign(profile));
  });
  router.all('/profile', () => {
    throw new AppError('method_not_allowed', 405, 'use GET', { headers: { Allow: 'GET, HEAD' } });
  });
  router.use(deviceErrorHandler(deps.logger, { isExplained: true }));
  return router;
}
