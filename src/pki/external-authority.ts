import { createHash } from 'node:crypto';
import type { ScepConfigurationRow } from '../db/settings-repository.js';

/** The digests that a SCEP payload's CAFingerprint can be, by their length in hexadecimal. */
const DIGESTS: Record<number, string> = { 32: 'md5', 40: 'sha1' };

/**
 * Whether the SCEP configuration sends devices to this CA (DER): one of those that an admin has
 * uploaded, and the one of the fingerprint where there is one.
 */
export function isExternalAuthority(
  der: Buffer,
  { source_type, ca_fingerprint }: Pick<ScepConfigurationRow, 'source_type' | 'ca_fingerprint'>,
): boolean {
  if (source_type !== 'ExternalSCEP') return false;
  if (ca_fingerprint === null) return true;
  const wanted = ca_fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase();
  const digest = DIGESTS[wanted.length];
  return digest !== undefined && createHash(digest).update(der).digest('hex') === wanted;
}
