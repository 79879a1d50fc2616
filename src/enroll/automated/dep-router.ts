import { Router } from 'express';
import { deviceErrorHandler } from '../../http/errors/device-errors.js';
import { sendAnchorCertificates } from '../anchor-certificates.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import type { EnrollServices } from '../services.js';
import { enrollAutomatically } from './automated-enrollment.js';

/** What lies under /dep for devices of Apple's enrollment program. */
export function createDepRouter(services: EnrollServices): Router {
  const router = Router();
  router.post('/enroll', (req, res) => enrollAutomatically(req, res, services));
  router.all('/enroll', methodNotAllowed('POST'));
  router.get('/anchor_certs', sendAnchorCertificates(services));
  router.all('/anchor_certs', methodNotAllowed('GET, HEAD'));
  router.use(deviceErrorHandler(services.logger, { isExplained: true }));
  return router;
}
