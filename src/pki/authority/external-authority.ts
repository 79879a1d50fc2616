import { createHash } from 'node:crypto';
import {
  readScepConfiguration,
  type ScepConfigurationRow,
} from '../../db/admin/settings-repository.js';
import type { Database } from '../../db/connection/database.js';
import { listAuthorities } from '../../db/pki/authority-repository.js';

/** The digests allowed as CAFingerprint of a SCEP payload, by their length in hexadecimal. */
const DIGESTS: Record<number, string> = { 32: 'md5', 40: 'sha1' };

const FOREIGN_URL =
  'source_type is InternalSCEP, so devices can enroll only if url leads to /scep of this server: ' +
  'set it to null';

type ExternalSource = Pick<ScepConfigurationRow, 'source_type' | 'ca_fingerprint'>;

/**
 * Whether the SCEP configuration sends devices to this CA (DER): any uploaded one, or the one with
 * the configured fingerprint.
 */
export function isExternalAuthority(
  der: Buffer,
  { source_type, ca_fingerprint }: ExternalSource,
): boolean {
  if (source_type !== 'ExternalSCEP') return false;
  if (ca_fingerprint === null) return true;
  const wanted = ca_fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase();
  const digest = DIGESTS[wanted.length];
  return digest !== undefined && createHash(digest).update(der).digest('hex') === wanted;
}

/** Why devices cannot enroll with the SCEP configuration, for an admin. */
export async function scepWarnings(knex: Database['knex']): Promise<string[]> {
  const scep = await readScepConfiguration(knex);
  if (scep.source_type !== 'ExternalSCEP') return scep.url === null ? [] : [FOREIGN_URL];
  const uploaded = (await listAuthorities(knex)).filter((row) => row.sealed_pkcs8 === null);
  if (uploaded.some(({ der }) => isExternalAuthority(der, scep))) return [];
  const { ca_fingerprint } = scep;
  const which =
    ca_fingerprint === null
      ? 'the certificate of the external CA is not stored here'
      : `no stored certificate of an external CA has the ca_fingerprint ${ca_fingerprint}`;
  return [`${which}, so no device can enroll: upload it by POST /api/v1/ca_certificates`];
}
