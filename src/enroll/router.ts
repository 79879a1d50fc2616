import { Router } from 'express';
import { deviceErrorHandler } from '../http/errors/device-errors.js';
import { createAccountRouter } from './account/router.js';
import { createLandingRoutes } from './link/landing-routes.js';
import { createOtaRoutes } from './ota-routes.js';
import { createProfileRoutes } from './profile-routes.js';
import type { EnrollServices } from './services.js';
import { createTrustRoutes } from './trust-routes.js';

/** Routes under /enroll. Errors are explained, since a person may read them in a browser. */
export function createEnrollRouter(services: EnrollServices): Router {
  const router = Router();
  router.use(createLandingRoutes(services));
  router.use(createProfileRoutes(services));
  router.use(createOtaRoutes(services));
  router.use(createTrustRoutes(services));
  router.use('/account', createAccountRouter(services));
  router.use(deviceErrorHandler(services.logger, { isExplained: true }));
  return router;
}
