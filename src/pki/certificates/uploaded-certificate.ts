import type { KeyObject } from 'node:crypto';
import { importPrivateKey } from '../../crypto/keys/keys.js';
import { privateKeyBlocks, readPrivateKeyPem } from '../../crypto/keys/private-key-pem.js';
import { WrongPassword } from '../../crypto/pkcs12/password-encryption.js';
import { openPkcs12 } from '../../crypto/pkcs12/pkcs12.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { AppError, type ErrorDetail } from '../../errors.js';
import { attributeFault, refusal } from './attribute-refusal.js';
import { findLeaf, isKeyOf, sortChain, type UploadedParts } from './certificate-chain.js';
import { decodeBase64Text, readCertificateText } from './certificate-text.js';

const MAX_CERTIFICATES = 16;

/** The attributes of a create that hold certificates and keys. */
export interface CertificateUpload {
  /**
   * One or several in PEM, also as PKCS #7, or DER of one of both as base64; a private key in PEM
   * may stand there too.
   */
  pem_certificate?: string | null;
  pem_private_key?: string | null | undefined;
  /** Base64. */
  pkcs12?: string | null;
  /** Password of the PKCS #12 file or of the encrypted key. */
  password?: string | null;
}

type Attribute = keyof CertificateUpload;

export interface UploadedCertificate {
  certificate: ParsedCertificate;
  /** The others, its issuer first. */
  chain: ParsedCertificate[];
  privateKey: KeyObject | undefined;
  /** The attributes that held the certificate and the key. */
  source: { certificate: Attribute; key: Attribute };
}

/**
 * Reads the certificate, its chain and its private key from an upload. Checks only that they are
 * readable and belong together. AppError 422 with every fault and its pointer.
 */
export async function readUploadedCertificate(
  upload: CertificateUpload,
): Promise<UploadedCertificate> {
  const faults = missingInput(upload);
  if (faults.length > 0) throw refusal(faults);
  const source = sourceOf(upload);
  const read = source.certificate === 'pkcs12' ? readPkcs12 : readPem;
  const parts = await read(upload, faults);
  if (faults.length > 0) throw refusal(faults);
  const certificates = withoutRepeats(parts.certificates);
  if (certificates.length > MAX_CERTIFICATES) {
    const detail = `more than ${MAX_CERTIFICATES} certificates`;
    throw refusal([attributeFault(source.certificate, detail)]);
  }
  return assemble({ certificates, keys: parts.keys }, source);
}

/**
 * The private key uploaded for a stored certificate; undefined without one. AppError 422 when it is
 * unreadable or belongs to another certificate.
 */
export async function readKeyOf(
  certificate: ParsedCertificate,
  { pem_private_key, password }: Pick<CertificateUpload, 'pem_private_key' | 'password'>,
): Promise<KeyObject | undefined> {
  if (typeof pem_private_key !== 'string') return undefined;
  const faults: ErrorDetail[] = [];
  const read = () => readPrivateKeyPem(pem_private_key, password ?? undefined);
  const key = await attempt('pem_private_key', faults, read);
  if (key === undefined) throw refusal(faults);
  if (!isKeyOf(key, certificate)) throw foreignKey('pem_private_key');
  return key;
}

function missingInput({ pem_certificate, pkcs12 }: CertificateUpload): ErrorDetail[] {
  const count = [pem_certificate, pkcs12].filter((text) => typeof text === 'string').length;
  if (count === 1) return [];
  if (count === 2) return [attributeFault('pkcs12', 'send either pem_certificate or pkcs12')];
  return [attributeFault('pem_certificate', 'pem_certificate or pkcs12 is required')];
}

function sourceOf({ pkcs12, pem_private_key }: CertificateUpload): UploadedCertificate['source'] {
  if (typeof pkcs12 === 'string') return { certificate: 'pkcs12', key: 'pkcs12' };
  const key = typeof pem_private_key === 'string' ? 'pem_private_key' : 'pem_certificate';
  return { certificate: 'pem_certificate', key };
}

async function readPkcs12(
  upload: CertificateUpload,
  faults: ErrorDetail[],
): Promise<UploadedParts> {
  const { pkcs12 = '', password } = upload;
  const parts = await attempt('pkcs12', faults, async () => {
    const content = await openPkcs12(decodeBase64Text(pkcs12 ?? ''), password ?? undefined);
    if (content.certificates.length === 0) {
      throw new AppError('invalid_pkcs12', 400, 'it holds no certificate');
    }
    return {
      certificates: content.certificates.map(parseCertificate),
      keys: content.privateKeys.map((key) => importPrivateKey(key)),
    };
  });
  return parts ?? { certificates: [], keys: [] };
}

/** Runs `read`; an AppError becomes a fault of the attribute, or of the password. */
async function attempt<T>(
  name: Attribute,
  faults: ErrorDetail[],
  read: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const at = error instanceof WrongPassword ? 'password' : name;
    faults.push(attributeFault(at, `${at}: ${error.message}`, error.code));
    return undefined;
  }
}

async function readPem(upload: CertificateUpload, faults: ErrorDetail[]): Promise<UploadedParts> {
  const { pem_certificate: text = '', pem_private_key, password } = upload;
  const certificates = await attempt('pem_certificate', faults, () =>
    readCertificateText(text ?? ''),
  );
  const keyText = pem_private_key ?? (privateKeyBlocks(text ?? '').length > 0 ? text : undefined);
  if (typeof keyText !== 'string') return { certificates: certificates ?? [], keys: [] };
  const read = () => readPrivateKeyPem(keyText, password ?? undefined);
  const key = await attempt(sourceOf(upload).key, faults, read);
  return { certificates: certificates ?? [], keys: key === undefined ? [] : [key] };
}

function withoutRepeats(certificates: ParsedCertificate[]): ParsedCertificate[] {
  const byFingerprint = certificates.map((one) => [one.fingerprint.toString('hex'), one] as const);
  return [...new Map(byFingerprint).values()];
}

function assemble(
  parts: UploadedParts,
  source: UploadedCertificate['source'],
): UploadedCertificate {
  const certificate = findLeaf(parts);
  if (certificate === undefined) {
    const detail = 'the certificates are not one chain, so it is not clear which one is meant';
    throw refusal([attributeFault(source.certificate, detail)]);
  }
  const [only] = parts.keys;
  const privateKey = parts.keys.find((key) => isKeyOf(key, certificate));
  if (only !== undefined && privateKey === undefined) {
    throw foreignKey(source.key);
  }
  const others = parts.certificates.filter((other) => other !== certificate);
  const { path: chain, unrelated } = sortChain(certificate, others);
  if (unrelated.length > 0) {
    throw unrelatedCertificates(source.certificate, unrelated, [certificate, ...chain]);
  }
  return { certificate, chain, privateKey, source };
}

function foreignKey(name: Attribute): AppError {
  const detail = 'the private key does not belong to the certificate';
  return refusal([attributeFault(name, detail, 'key_mismatch')]);
}

/** Refused because the whole chain is sent to clients. */
function unrelatedCertificates(
  name: Attribute,
  unrelated: ParsedCertificate[],
  path: ParsedCertificate[],
): AppError {
  const subjects = unrelated.map(({ subject }) => subject || 'one without a subject');
  const last = path.at(-1);
  const missing =
    last === undefined || last.subjectRaw.equals(last.issuerRaw)
      ? ''
      : `, or add the certificate of ${last.issuer}, which is missing in between`;
  const detail =
    `beside the certificate and the CAs of its chain there is ${subjects.join('; ')}: leave out ` +
    `what is not part of the chain${missing}`;
  return refusal([attributeFault(name, detail)]);
}
