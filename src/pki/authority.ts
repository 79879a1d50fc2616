import { type KeyObject, randomBytes } from 'node:crypto';
import {
  type GeneralName,
  issueCertificate,
  type KeyUsage,
  type ParsedCertificate,
  parseCertificate,
} from '../crypto/certificate.js';
import {
  exportPrivateKey,
  generateRsaKeyPair,
  importPrivateKey,
  publicKeyFingerprint,
} from '../crypto/keys.js';
import type { NameAttribute } from '../crypto/names.js';
import { Oid } from '../crypto/oids.js';
import type { SecretBox } from '../crypto/secret-box.js';
import {
  type AuthorityRow,
  insertCertificate,
  insertPrivateKey,
  listAuthorities,
  lockAuthority,
  type Transaction,
  writeMasterKeyCheck,
} from '../db/certificate-repository.js';
import type { Database } from '../db/database.js';
import { inTransaction } from '../db/unit-of-work.js';
import type { Logger } from '../logger.js';
import { certificateRecord } from './certificate-record.js';
import { checkMasterKey, privateKeyIdentity, sealMasterKeyCheck } from './master-key.js';

const CA_KEY_BITS = 2048;
const CA_YEARS = 10;
const CA_KEY_USAGE: KeyUsage[] = ['digitalSignature', 'keyEncipherment', 'keyCertSign', 'cRLSign'];
const DEVICE_YEARS = 1;
/** Devices whose clock is a little slow accept the certificate all the same. */
const CLOCK_TOLERANCE_MS = 10 * 60 * 1000;
/** DER of a Name without attributes. */
const EMPTY_NAME_BYTES = 2;

export interface AuthorityDeps {
  db: Database;
  box: SecretBox;
  logger: Logger;
  now?: () => Date;
}

export interface DeviceCertificateRequest {
  publicKey: KeyObject;
  /** An encoded Name (of a CSR), or attributes; an empty one is replaced by a made-up name. */
  subject: Buffer | readonly NameAttribute[];
  /** DER of the extension's value, or names. */
  subjectAltName?: Buffer | readonly GeneralName[];
}

/** Our CA: it vouches for the identities of devices, and signs and opens SCEP messages. */
export interface CertificateAuthority {
  certificate: ParsedCertificate;
  privateKey: KeyObject;
  /** A client certificate for a device's key. Nothing is stored. */
  issueDeviceCertificate(request: DeviceCertificateRequest): ParsedCertificate;
}

function yearsAfter(date: Date, years: number): Date {
  const later = new Date(date);
  later.setUTCFullYear(later.getUTCFullYear() + years);
  return later;
}

function deviceSubject(subject: DeviceCertificateRequest['subject']) {
  const emptyLength = Buffer.isBuffer(subject) ? EMPTY_NAME_BYTES : 0;
  if (subject.length > emptyLength) return subject;
  return [{ type: 'CN', value: `Muster Device ${randomBytes(8).toString('hex')}` }];
}

function createAuthority(
  certificate: ParsedCertificate,
  privateKey: KeyObject,
  now: () => Date,
): CertificateAuthority {
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
      ...(subjectAltName === undefined ? {} : { subjectAltName }),
    });
    return parseCertificate(der);
  };
  return { certificate, privateKey, issueDeviceCertificate };
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}

async function makeCaCertificate(now: Date) {
  const { privateKey, publicKey } = await generateRsaKeyPair(CA_KEY_BITS);
  const suffix = randomBytes(4).toString('hex');
  const der = issueCertificate({
    subject: [{ type: 'CN', value: `Muster Device CA ${suffix}` }],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(now.getTime() - CLOCK_TOLERANCE_MS),
    notAfter: yearsAfter(now, CA_YEARS),
    isCa: true,
    pathLength: 0,
    keyUsage: CA_KEY_USAGE,
  });
  return { certificate: parseCertificate(der), privateKey };
}

async function storeAuthority(
  trx: Transaction,
  box: SecretBox,
  { certificate, privateKey }: Awaited<ReturnType<typeof makeCaCertificate>>,
): Promise<void> {
  const fingerprint = publicKeyFingerprint(privateKey).toString('hex');
  const keyId = await insertPrivateKey(trx, {
    name: certificate.commonName ?? null,
    key_type: 'RSA',
    key_size: CA_KEY_BITS,
    fingerprint_sha256: fingerprint,
    sealed_pkcs8: box.seal(exportPrivateKey(privateKey), privateKeyIdentity(fingerprint)),
  });
  const record = certificateRecord(certificate, 'mdm.cacert');
  await insertCertificate(trx, { ...record, rsa_private_key_id: keyId });
  await writeMasterKeyCheck(trx, sealMasterKeyCheck(box));
}

function openAuthority({ der, key_fingerprint, sealed_pkcs8 }: AuthorityRow, box: SecretBox) {
  if (key_fingerprint === null || sealed_pkcs8 === null) return undefined;
  const pkcs8 = box.open(sealed_pkcs8, privateKeyIdentity(key_fingerprint));
  return { certificate: parseCertificate(der), privateKey: importPrivateKey(pkcs8) };
}

/** The oldest CA that can sign: those added later, with or without a key, are only trusted. */
async function findAuthority(trx: Transaction, box: SecretBox) {
  for (const row of (await listAuthorities(trx)).reverse()) {
    const found = openAuthority(row, box);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Our CA, made at the first start. Two processes that start at once end up with the same one.
 * Refuses (master_key_mismatch) and changes nothing when stored secrets do not open.
 */
export async function ensureCertificateAuthority(
  deps: AuthorityDeps,
): Promise<CertificateAuthority> {
  const { db, box, logger, now = () => new Date() } = deps;
  await checkMasterKey(db, box);
  return await inTransaction(db, async (trx) => {
    await lockAuthority(trx);
    const existing = await findAuthority(trx, box);
    if (existing) return createAuthority(existing.certificate, existing.privateKey, now);
    const made = await makeCaCertificate(now());
    await storeAuthority(trx, box, made);
    logger.info({ subject: made.certificate.subject }, 'made the certificate authority');
    return createAuthority(made.certificate, made.privateKey, now);
  });
}
