import { Oid } from '../crypto/asn1/oids.js';
import {
  type GeneralName,
  type ParsedCertificate,
  parseCertificate,
} from '../crypto/x509/certificate.js';
import type { ParsedCsr } from '../crypto/x509/csr.js';
import type { NameAttribute } from '../crypto/x509/names.js';
import { readOrganization, readScepConfiguration } from '../db/admin/settings-repository.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import type { RenewableDevice } from '../db/pki/scep-repository.js';
import type { CertificateAuthority } from '../pki/authority/authority.js';
import { identityName, type ProvenFacts } from '../pki/authority/identity-name.js';

/** The names of a certificate to issue, encoded or not. */
export interface CertificateName {
  subject: Buffer | readonly NameAttribute[];
  subjectAltName: Buffer | readonly GeneralName[] | undefined;
}

/** The encoded names of a certificate. */
export function nameOf({ subjectRaw, extensions }: ParsedCertificate): CertificateName {
  return { subject: subjectRaw, subjectAltName: extensions.get(Oid.subjectAltName)?.value };
}

/** The names by the settings at the time of issue, not those when the profile was made. */
export async function nameByFacts(
  trx: Transaction,
  facts: ProvenFacts,
  nonce: Buffer,
): Promise<CertificateName> {
  const organization = await readOrganization(trx);
  const scep = await readScepConfiguration(trx);
  return identityName({ organization, scep }, facts, nonce.toString('hex'));
}

/** The names of the identity to renew; names by its facts if an external CA issued it. */
export async function nameOfRenewed(
  trx: Transaction,
  device: RenewableDevice,
  nonce: Buffer,
): Promise<CertificateName> {
  const { der, udid, proven_serial: serialNumber, managed_apple_account: account } = device;
  if (der !== null) return nameOf(parseCertificate(der));
  const isProven = serialNumber !== null;
  return await nameByFacts(trx, { udid: isProven ? udid : null, serialNumber, account }, nonce);
}

/**
 * Issues a device certificate with these names. Only the public key comes from the request: the
 * client does not choose any other content.
 */
export function issueFor(
  { publicKey }: ParsedCsr,
  { subject, subjectAltName }: CertificateName,
  authority: CertificateAuthority,
): ParsedCertificate {
  return authority.issueDeviceCertificate({
    publicKey,
    subject,
    subjectAltName,
  });
}
