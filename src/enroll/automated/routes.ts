import { Router } from 'express';
import { deviceErrorHandler } from '../../http/errors/device-errors.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import type { EnrollServices } from '../services.js';
import { sendAnchorCertificates } from '../trust-routes.js';
import { enrollAutomatically } from './automated-enrollment.js';

/** Routes under /dep for devices in Automated Device Enrollment. */
export function createDepRouter(services: EnrollServices): Router {
  const router = Router();
  router.post('/enroll', (req, res) => enrollAutomatically(req, res, services));
  router.all('/enroll', methodNotAllowed('POST'));
  router.get('/anchor_certs', sendAnchorCertificates(services));
  router.all('/anchor_certs', methodNotAllowed('GET, HEAD'));
  router.use(deviceErrorHandler(services.logger, { isExplained: true }));
  return router;
}

/** /MDMServiceConfig, where Apple Configurator looks up how its devices enroll. */
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
