import { LRUCache } from 'lru-cache';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import type { Logger } from '../logger.js';

const DAY_MS = 86_400_000;
const MAX_TOLD = 10_000;

/** Warns, once a day for each, of identities that serve their devices although they have expired. */
export function createExpiredIdentities(logger: Logger, graceMs: number) {
  const told = new LRUCache<string, true>({ max: MAX_TOLD, ttl: DAY_MS });
  return ({ fingerprint, subject, notAfter }: ParsedCertificate): void => {
    const key = fingerprint.toString('hex');
    if (told.has(key)) return;
    told.set(key, true);
    const servesUntil = new Date(notAfter.getTime() + graceMs);
    const about = { fingerprint: key, subject, notAfter, servesUntil };
    const message = `an identity has expired; it serves its device until ${servesUntil.toISOString()}`;
    logger.warn(about, message);
  };
}
