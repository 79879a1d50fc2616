import { SecretBox } from '../../src/crypto/secret-box.js';
import {
  openTlsCertificates,
  type TlsCertificates,
  type TlsCertificatesDeps,
} from '../../src/pki/tls-certificates.js';
import type { TestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';

export const BOX = new SecretBox(Buffer.alloc(32, 7));

export interface OpenedTls {
  tls: TlsCertificates;
  /** Messages from the level of warnings on. */
  warnings: () => string[];
}

/** The certificates for TLS as a process with this configuration finds them at its start. */
export async function openTls(
  { db }: TestDatabase,
  config: Partial<TlsCertificatesDeps['config']>,
): Promise<OpenedTls> {
  const { logger, lines } = capturingLogger();
  const settings = { tls: undefined, storedTls: true, ...config };
  const tls = await openTlsCertificates({ config: settings, db, box: BOX, logger });
  return { tls, warnings: () => lines.filter(({ level }) => level >= 40).map(({ msg }) => msg) };
}

export function inUse({ current }: TlsCertificates): Buffer | undefined {
  return current?.certificate.fingerprint;
}
