import { AppError } from '../../errors.js';

export type ApnsFailure = 'unreachable' | 'certificate_refused';

/** A push that got no answer. Nothing is known of the device, and it may have been told all the same. */
export class ApnsUnreachableError extends AppError {
  constructor(
    readonly kind: ApnsFailure,
    message: string,
    /** When another attempt may succeed; before it, pushes are refused at once. */
    readonly retryAt: Date,
    cause?: unknown,
  ) {
    const seconds = Math.max(1, Math.ceil((retryAt.getTime() - Date.now()) / 1000));
    const headers = { 'Retry-After': String(seconds) };
    super('push_service_unreachable', 503, message, { headers, cause });
    this.name = 'ApnsUnreachableError';
  }
}
