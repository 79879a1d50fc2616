import type { RequestHandler } from 'express';
import { AppError } from '../errors.js';

/** @param allowed as in the Allow header: `GET, HEAD` */
export function methodNotAllowed(allowed: string): RequestHandler {
  const [first] = allowed.split(',');
  return () => {
    throw new AppError('method_not_allowed', 405, `use ${first}`, { headers: { Allow: allowed } });
  };
}
