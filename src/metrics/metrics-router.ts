import { type RequestHandler, Router } from 'express';
import { methodNotAllowed } from '../errors.js';
import { jsonApiErrorHandler } from '../http/errors/json-api-errors.js';
import { isLocalRequest } from '../http/requests/local-request.js';
import { requireRole } from '../http/requests/request-context.js';
import type { Logger } from '../logger.js';

export interface MetricsRouterOptions {
  metrics: { readonly contentType: string; text: () => Promise<string> };
  /** Refuses requests without a valid token; shared with the API, so that failures are counted together. */
  authenticate: RequestHandler;
  /** Behind known proxies a local peer may be a proxy, so local requests need a token, too. */
  isBehindProxy: boolean;
  logger: Logger;
}

/** GET /metrics in the Prometheus text format: for admins, and for this machine. */
export function createMetricsRouter(options: MetricsRouterOptions): Router {
  const { metrics, authenticate, isBehindProxy, logger } = options;
  const unlessLocal =
    (handler: RequestHandler): RequestHandler =>
    (req, res, next) =>
      !isBehindProxy && isLocalRequest(req) ? next() : handler(req, res, next);
  const send: RequestHandler = async (_req, res) => {
    const body = Buffer.from(await metrics.text());
    res.status(200).set({ 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' });
    res.send(body);
  };
  const router = Router({ caseSensitive: true });
  router.all('/metrics', refuseMethods);
  router.get('/metrics', unlessLocal(authenticate), unlessLocal(requireRole('admin')), send);
  router.use('/metrics', jsonApiErrorHandler(logger));
  return router;
}

const refuseMethods: RequestHandler = (req, _res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  throw methodNotAllowed(req.method, 'GET, HEAD');
};
