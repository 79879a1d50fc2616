import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import {
  openTlsCertificates,
  type TlsCertificates,
  type TlsCertificatesDeps,
} from '../../../src/pki/tls/tls-certificates.js';
import type { TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';

export const BOX = new SecretBox(Buffer.alloc(32, 7));

const USUAL: TlsCertificatesDeps['config'] = {
  tls: undefined,
  storedTls: true,
  role: 'all',
  trustProxy: [],
  publicUrl: 'http://localhost:8080',
};

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
  const settings = { ...USUAL, ...config };
  const tls = await openTlsCertificates({ config: settings, db, box: BOX, logger });
  return { tls, warnings: () => lines.filter(({ level }) => level >= 40).map(({ msg }) => msg) };
}

export function inUse({ current }: TlsCertificates): Buffer | undefined {
  return current?.certificate.fingerprint;
}

export function caveatsOf({ caveats }: TlsCertificates): string[] {
  return caveats.map(({ code }) => code);
}
