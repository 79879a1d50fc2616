import cors from 'cors';
import type { RequestHandler } from 'express';

/** Headers of requests and answers that the API uses. */
const OPTIONS: cors.CorsOptions = {
  credentials: true,
  methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
  allowedHeaders: [
    'Accept',
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'If-Match',
    'If-None-Match',
    'X-Request-Id',
  ],
  exposedHeaders: [
    'Allow',
    'Content-Disposition',
    'ETag',
    'Idempotency-Replayed',
    'Location',
    'Retry-After',
    'X-Request-Id',
  ],
  maxAge: 600,
};

/**
 * Allows pages of these origins to call the API from a browser. A preflight is answered here, before
 * authentication, since browsers send it without credentials; other origins get no CORS header.
 */
export function crossOrigin(origins: readonly string[]): RequestHandler {
  if (origins.length === 0) return (_req, _res, next) => next();
  const allowed = new Set(origins);
  const preflight = cors({ ...OPTIONS, origin: [...origins] });
  const actual = cors({ ...OPTIONS, origin: [...origins], preflightContinue: true });
  return (req, res, next) => {
    res.vary('Origin');
    if (!allowed.has(req.get('origin') ?? '')) {
      next();
      return;
    }
    const isPreflight =
      req.method === 'OPTIONS' && req.get('access-control-request-method') !== undefined;
    (isPreflight ? preflight : actual)(req, res, next);
  };
}
