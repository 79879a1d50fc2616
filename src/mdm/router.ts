import { Router } from 'express';
import { AppError } from '../errors.js';
import { deviceErrorHandler } from '../http/errors/device-errors.js';
import type { DeviceHandler } from '../http/server/server.js';
import type { Logger } from '../logger.js';

/** The Express door to the handler that the server also calls directly. */
export function createMdmRouter(handler: DeviceHandler, logger: Logger): Router {
  const router = Router();
  for (const path of ['/mdm', '/checkin']) {
    router.put(path, (req, res) => handler(req, res));
    router.all(path, () => {
      throw new AppError('method_not_allowed', 405, 'devices use PUT', {
        headers: { Allow: 'PUT' },
      });
    });
  }
  router.use(deviceErrorHandler(logger));
  return router;
}
