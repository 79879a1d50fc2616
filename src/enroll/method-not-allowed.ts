import type { RequestHandler } from 'express';
import { AppError } from '../errors.js';

/** @param allowed as in the Allow header: `GET, HEAD`; the message leaves out HEAD */
export function methodNotAllowed(allowed: string): RequestHandler {
  const methods = allowed.split(', ').filter((method) => method !== 'HEAD');
  const message = `use ${methods.join(' or ')}`;
  return () => {
    throw new AppError('method_not_allowed', 405, message, { headers: { Allow: allowed } });
  };
}
