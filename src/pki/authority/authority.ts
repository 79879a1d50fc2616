import { type KeyObject, randomBytes } from 'node:crypto';
import { Oid } from '../../crypto/asn1/oids.js';
import { generateRsaKeyPair, keyIdentifier } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import {
  type Extension,
  type GeneralName,
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import {
  encodeAuthorityInfoAccess,
  encodeCrlDistributionPoints,
} from '../../crypto/x509/certificate-extensions.js';
import type { NameAttribute } from '../../crypto/x509/names.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { listOwnAuthorities, lockAuthority } from '../../db/pki/authority-repository.js';
import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { checkMasterKey } from '../master-key/master-key.js';
import {
  CA_KEY_BITS,
  CLOCK_TOLERANCE_MS,
  openAuthority,
  type StoredAuthority,
  storeNewAuthority,
  yearsAfter,
} from './stored-authority.js';

const DEVICE_YEARS = 1;
/** DER of a Name without attributes. */
const EMPTY_NAME_BYTES = 2;

export interface AuthorityDeps {
  db: Database;
  box: SecretBox;
  logger: Logger;
  /** The address of CRL and OCSP in issued certificates; without it they have none. */
  publicUrl?: string;
  now?: () => Date;
}

export interface DeviceCertificateRequest {
  publicKey: KeyObject;
  /** An encoded Name, or attributes; an empty one is replaced by a random name. */
  subject: Buffer | readonly NameAttribute[];
  /** DER of the extension's value, or names. */
  subjectAltName?: Buffer | readonly GeneralName[] | undefined;
}

/** A CA made here: it issues the identities of devices, and signs and decrypts SCEP messages. */
export interface CertificateAuthority extends StoredAuthority {
  /** Its subjectKeyIdentifier in lower-case hexadecimal, as in the addresses of its CRL. */
  keyId: string;
  /** A client certificate for a device's key. Nothing is stored. */
  issueDeviceCertificate(request: DeviceCertificateRequest): ParsedCertificate;
}

/** A CA made here, ready to issue. */
export function createAuthority(
  stored: StoredAuthority,
  { publicUrl, now = () => new Date() }: Pick<AuthorityDeps, 'publicUrl' | 'now'>,
): CertificateAuthority {
  const { certificate, privateKey } = stored;
  const keyId = (certificate.subjectKeyId ?? keyIdentifier(certificate.publicKey)).toString('hex');
  const furtherExtensions = statusExtensions(publicUrl, keyId);
  const issueDeviceCertificate = (request: DeviceCertificateRequest) => {
    const { publicKey, subjectAltName } = request;
    const isRsa = publicKey.asymmetricKeyType === 'rsa';
    const der = issueCertificate({
      subject: deviceSubject(request.subject),
      publicKey,
      issuer: certificate,
      issuerKey: privateKey,
      notBefore: new Date(now().getTime() - CLOCK_TOLERANCE_MS),
      notAfter: earlier(yearsAfter(now(), DEVICE_YEARS), certificate.notAfter),
      keyUsage: isRsa ? ['digitalSignature', 'keyEncipherment'] : ['digitalSignature'],
      extendedKeyUsage: [Oid.clientAuth],
      furtherExtensions,
      subjectAltName,
    });
    return parseCertificate(der);
  };
  return { ...stored, keyId, issueDeviceCertificate };
}

/**
 * The issuing CA. It is made at the first start, and a new one when it was revoked. Two processes
 * that start at once use the same one. Throws master_key_mismatch and changes nothing when stored
 * secrets do not open.
 */
export async function ensureCertificateAuthority(
  deps: AuthorityDeps,
): Promise<CertificateAuthority> {
  const { db, box, logger, now = () => new Date() } = deps;
  await checkMasterKey(db, box);
  const stored = await inTransaction(db, async (trx) => {
    await lockAuthority(trx);
    const existing = await findIssuing(trx, box);
    if (existing !== undefined) return existing;
    const keys = await generateRsaKeyPair(CA_KEY_BITS);
    const made = await storeNewAuthority(trx, box, { keys, now: now() });
    logger.info({ subject: made.certificate.subject }, 'made the certificate authority');
    return made;
  });
  return createAuthority(stored, deps);
}

/**
 * Throws AppError `unavailable` while the clock is before the start of the CA: nothing can be
 * verified then, and the fault is not a device's.
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

/** When to renew an identity: a third of its life is left then. */
export function renewalTime({ notBefore, notAfter }: { notBefore: Date; notAfter: Date }): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  return new Date(notAfter.getTime() - life / 3);
}

/** Where the issuer's revocation list, OCSP responder and certificate are. */
function statusExtensions(publicUrl: string | undefined, keyId: string): Extension[] {
  if (publicUrl === undefined) return [];
  const points = encodeCrlDistributionPoints([`${publicUrl}/crl/${keyId}.crl`]);
  const access = encodeAuthorityInfoAccess({
    ocsp: [`${publicUrl}/ocsp`],
    caIssuers: [`${publicUrl}/ca/${keyId}.cer`],
  });
  return [
    { oid: Oid.cRLDistributionPoints, critical: false, value: points },
    { oid: Oid.authorityInfoAccess, critical: false, value: access },
  ];
}

function deviceSubject(subject: DeviceCertificateRequest['subject']) {
  const emptyLength = Buffer.isBuffer(subject) ? EMPTY_NAME_BYTES : 0;
  if (subject.length > emptyLength) return subject;
  return [{ type: 'CN', value: `Muster Device ${randomBytes(8).toString('hex')}` }];
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

async function findIssuing(trx: Transaction, box: SecretBox): Promise<StoredAuthority | undefined> {
  const rows = await listOwnAuthorities(trx);
  const row = rows.find(({ issues_identities: issues, revoked_at }) => issues && !revoked_at);
  return row && openAuthority(row, box);
}
