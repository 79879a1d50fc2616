import { Router } from 'express';
import { deviceErrorHandler } from '../http/device-errors.js';
import { createProfileRoutes } from './profile-routes.js';
import type { EnrollServices } from './services.js';

/** What lies under /enroll. Whoever reads a refusal may be a person in front of a browser. */
export function createEnrollRouter(services: EnrollServices): Router {
  const router = Router();
  router.use(createProfileRoutes(services));
  router.use(deviceErrorHandler(services.logger, { isExplained: true }));
  return router;
}
