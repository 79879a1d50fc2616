import { Router } from 'express';
import { deviceErrorHandler } from '../http/errors/device-errors.js';
import { methodNotAllowed } from './method-not-allowed.js';
import type { EnrollServices } from './services.js';

/** By which Apple Configurator finds out how its devices enroll, at the root of the server. */
export function createServiceConfigRouter({
  publicUrl,
  logger,
}: Pick<EnrollServices, 'publicUrl' | 'logger'>): Router {
  const config = JSON.stringify({
    dep_enrollment_url: `${publicUrl}/dep/enroll`,
    dep_anchor_certs_url: `${publicUrl}/dep/anchor_certs`,
    trust_profile_url: `${publicUrl}/enroll/trust.mobileconfig`,
  });
  const router = Router();
  router.get('/MDMServiceConfig', (_req, res) => {
    // Spelled as in Apple's protocol.
    res.setHeader('Content-Type', 'application/json;charset=utf8');
    res.end(config);
  });
  router.all('/MDMServiceConfig', methodNotAllowed('GET, HEAD'));
  router.use('/MDMServiceConfig', deviceErrorHandler(logger, { isExplained: true }));
  return router;
}
