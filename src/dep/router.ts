import { Router } from 'express';
import type { EnrollServices } from '../enroll/services.js';
import { deviceErrorHandler } from '../http/device-errors.js';

/** What lies under /dep for devices of Apple's enrollment program. */
export function createDepRouter({ logger }: EnrollServices): Router {
  const router = Router();
  router.use(deviceErrorHandler(logger, { isExplained: true }));
  return router;
}
