import { type Request, type Response, Router } from 'express';
import { AppError } from '../../errors.js';
import { deviceErrorHandler } from '../../http/errors/device-errors.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import { queryText } from '../send-profile.js';
import type { EnrollServices } from '../services.js';
import {
  type EnrollmentMode,
  findUser,
  isAccountName,
  requireSignIn,
  serverVersion,
} from './admission.js';

const PATH = '/.well-known/com.apple.remotemanagement';

/** Model families for which Apple's schema has no EnrollmentMode. */
const WITHOUT_ACCOUNTS = new Set(['AppleTV', 'Watch']);

/**
 * Account discovery: a device asks which server manages the devices of its user's domain. The answer
 * does not reveal whether the user exists, unless the user's own mode differs.
 */
export function createDiscoveryRouter(services: EnrollServices): Router {
  const router = Router();
  router.get(PATH, async (req, res) => {
    try {
      sendJson(res, 200, { Servers: [serverOf(await modeFor(req, services), services)] });
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 403) throw error;
      services.logger.info({ reason: error.message }, 'discovery of account enrollment refused');
      sendJson(res, 403, { code: 'com.apple.well-known.failed', description: error.message });
    }
  });
  router.all(PATH, methodNotAllowed('GET, HEAD'));
  // For this path only: other paths are handled by other routers.
  router.use(PATH, deviceErrorHandler(services.logger, { isExplained: true }));
  return router;
}

function sendJson(res: Response, status: number, document: object): void {
  // Without a charset, as in Apple's example.
  res.status(status).setHeader('Content-Type', 'application/json');
  res.setHeader('Cache-Control', 'no-store');
  res.end(JSON.stringify(document));
}

function serverOf(mode: EnrollmentMode, { publicUrl }: EnrollServices) {
  return {
    Version: serverVersion(mode),
    BaseURL: `${publicUrl}/enroll/account?mode=${mode}`,
  };
}

async function modeFor(req: Request, services: EnrollServices): Promise<EnrollmentMode> {
  const usual = await requireSignIn(services);
  if (WITHOUT_ACCOUNTS.has(queryText(req, 'model-family') ?? '')) {
    throw new AppError('forbidden', 403, 'devices of this kind do not enroll with an account');
  }
  const account = queryText(req, 'user-identifier');
  if (account === undefined) return usual;
  if (!isAccountName(account)) {
    throw new AppError('forbidden', 403, 'the account has to be of the form name@example.com');
  }
  return (await findUser(services, account))?.enrollment_mode ?? usual;
}
