import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import { AppError } from '../../errors.js';

/**
 * Throws AppError `unavailable` while the clock stands before the start of the CA: nothing can be
 * verified then, and no device is to blame.
 */
export function requireStarted({ notBefore }: ParsedCertificate, now = new Date()): void {
  if (notBefore <= now) return;
  throw new AppError(
    'unavailable',
    503,
    `The clock of this server says ${now.toISOString()}, but its certificate authority is valid ` +
      `from ${notBefore.toISOString()}: set the clock`,
  );
}
