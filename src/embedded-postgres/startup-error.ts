import { AppError } from '../errors.js';

/** The embedded database cannot be had; the message tells an administrator what to do about it. */
export function startupError(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', 503, message, cause === undefined ? {} : { cause });
}
