import type { KeyObject } from 'node:crypto';
import { Oid } from '../../crypto/asn1/oids.js';
import { encodePem } from '../../crypto/asn1/pem.js';
import {
  describeKey,
  exportPublicKey,
  importPublicKey,
  publicKeyFingerprint,
} from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { GeneralName } from '../../crypto/x509/certificate.js';
import { type BuildCsrOptions, buildCsr, type ParsedCsr, parseCsr } from '../../crypto/x509/csr.js';
import type { NameAttribute } from '../../crypto/x509/names.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { CertificatePurpose } from '../../db/pki/certificate-repository.js';
import {
  insertSigningRequest,
  lockSigningRequest,
  updateSigningRequest,
} from '../../db/pki/signing-request-repository.js';
import { AppError, type ErrorDetail, notFound } from '../../errors.js';
import { hostNameOf, parseAlternativeName } from '../certificates/alternative-names.js';
import { attributeFault, refusal } from '../certificates/attribute-refusal.js';
import { requireAppleAccount } from '../certificates/certificate-origin.js';
import { findKeyFor, openPrivateKey, storeSealedKey } from '../certificates/stored-keys.js';
import { faultOfKey, type RequestedKey, readRequestedKey } from './signing-request-key.js';
import {
  readRequestText,
  type SigningRequestView,
  signingRequestView,
} from './signing-request-reader.js';
import { hasParts, readSubject, type SubjectInput } from './signing-request-subject.js';

export interface SigningRequestInput extends SubjectInput, RequestedKey {
  /** A request built elsewhere: PEM, or DER as base64. */
  pem_request?: string | null;
  subject_alt_names?: string[] | null;
  /** Push certificates only. */
  apple_account?: string | null;
  /** A stored key to use instead of a new one. */
  privateKeyId?: number | null;
}

export interface SigningRequestChange {
  id: number;
  purpose?: CertificatePurpose;
}

interface RequestPlan {
  subject: NameAttribute[];
  names: GeneralName[];
  generate: () => Promise<{ privateKey: KeyObject }>;
}

interface RequestWithKey {
  request: ParsedCsr;
  keyId: number | null;
}

const KEY_POINTER = '/data/relationships/rsa_private_key/data';
/** Refused beside `pem_request`, which already contains them. */
const IN_REQUEST = ['key_type', 'key_size', 'subject_alt_names'] as const;

/** Adds and changes certificate signing requests for the JSON:API resources. */
export class SigningRequestService {
  constructor(private readonly box: SecretBox) {}

  /** Returns the new row's id. AppError 422 naming each fault. */
  async add(trx: Transaction, input: SigningRequestInput): Promise<number> {
    refuseContradictions(input);
    requireAppleAccount(input.apple_account);
    const isUpload = typeof input.pem_request === 'string';
    const { request, keyId } = await (isUpload
      ? this.#readUpload(trx, input)
      : this.#build(trx, input));
    return insertSigningRequest(trx, {
      purpose: input.purpose,
      subject: request.subject,
      der: request.der,
      public_key_fingerprint: publicKeyFingerprint(request.publicKey),
      rsa_private_key_id: keyId,
      apple_account: input.apple_account ?? null,
    });
  }

  /** AppError 404; 422 when it is no request for that purpose. */
  async change(trx: Transaction, { id, purpose }: SigningRequestChange): Promise<void> {
    const stored = await lockSigningRequest(trx, id);
    if (stored === undefined) throw notFound(`certificate_signing_requests ${id}`);
    if (purpose === undefined || purpose === stored.purpose) return;
    const fault = faultOfKey(parseCsr(stored.der).publicKey, purpose);
    if (fault !== undefined) throw refusal([attributeFault('purpose', `purpose: ${fault}`)]);
    const apple_account = purpose === 'mdm.pushcert' ? undefined : null;
    await updateSigningRequest(trx, id, { purpose, apple_account });
  }

  /** PEM of a stored request (DER). */
  present(der: Buffer): string {
    return encodePem('CERTIFICATE REQUEST', der);
  }

  /** The view of a stored request (DER); undefined when it is unreadable. */
  view(der: Buffer): SigningRequestView | undefined {
    return signingRequestView(der);
  }

  async #readUpload(trx: Transaction, input: SigningRequestInput): Promise<RequestWithKey> {
    const request = readRequestText(input.pem_request ?? '');
    const fault = faultOfKey(request.publicKey, input.purpose);
    if (fault !== undefined) {
      throw refusal([attributeFault('pem_request', `pem_request: ${fault}`)]);
    }
    const found = await findKeyFor(trx, request.publicKey);
    if (typeof input.privateKeyId === 'number' && found !== input.privateKeyId) {
      const message = 'the private key does not belong to the request';
      throw new AppError('key_mismatch', 422, message, { source: { pointer: KEY_POINTER } });
    }
    return { request, keyId: found };
  }

  async #build(trx: Transaction, input: SigningRequestInput): Promise<RequestWithKey> {
    const { generate, subject, names } = readPlan(input);
    const { privateKeyId } = input;
    const isStored = typeof privateKeyId === 'number';
    const privateKey = isStored
      ? await this.#storedKey(trx, privateKeyId, input.purpose)
      : (await generate()).privateKey;
    const request = buildRequest(privateKey, { subject, names, purpose: input.purpose });
    const name = request.commonName ?? null;
    const keyId = isStored
      ? privateKeyId
      : await storeSealedKey(trx, this.box, { key: privateKey, name });
    return { request, keyId };
  }

  async #storedKey(trx: Transaction, id: number, purpose: CertificatePurpose): Promise<KeyObject> {
    const { key } = await openPrivateKey(trx, this.box, id);
    const fault = faultOfKey(key, purpose);
    if (fault === undefined) return key;
    throw new AppError('validation_failed', 422, fault, { source: { pointer: KEY_POINTER } });
  }
}

function refuseContradictions(input: SigningRequestInput): void {
  const faults: ErrorDetail[] = [];
  const isUpload = typeof input.pem_request === 'string';
  const forms = [input.subject !== undefined, hasParts(input), isUpload].filter((form) => form);
  if (forms.length !== 1) {
    const detail = 'send either subject, its parts (x509_cn and others) or pem_request';
    faults.push(attributeFault('subject', detail));
  }
  if (typeof input.apple_account === 'string' && input.purpose !== 'mdm.pushcert') {
    const detail = 'apple_account: only push certificates (mdm.pushcert) belong to one';
    faults.push(attributeFault('apple_account', detail));
  }
  const contradictions = IN_REQUEST.filter((name) => isUpload && (input[name] ?? null) !== null);
  const detail = 'pem_request is taken as it is';
  faults.push(...contradictions.map((name) => attributeFault(name, `${name}: ${detail}`)));
  if (faults.length > 0) throw refusal(faults);
}

function readPlan(input: SigningRequestInput): RequestPlan {
  const faults: ErrorDetail[] = [];
  const subject = readSubject(input, faults);
  const names = readNames(input.subject_alt_names ?? [], faults);
  const generate = readRequestedKey(input, faults);
  if (faults.length > 0) throw refusal(faults);
  const isBare = input.purpose === 'mdm.webcrt' && names.length === 0;
  return { subject, names: isBare ? namesOf(subject) : names, generate };
}

function readNames(texts: string[], faults: ErrorDetail[]): GeneralName[] {
  return texts.flatMap((text, index) => {
    const name = parseAlternativeName(text);
    if (name !== undefined) return [name];
    const detail = `subject_alt_names: "${text}" is no host name, address, e-mail address or URI`;
    faults.push(attributeFault(`subject_alt_names/${index}`, detail));
    return [];
  });
}

/** The common name as an alternative name: browsers read only those. */
function namesOf(subject: NameAttribute[]): GeneralName[] {
  const commonName = subject.find(({ type }) => type === 'CN');
  const name = commonName && hostNameOf(commonName.value);
  return name === undefined ? [] : [name];
}

function buildRequest(
  privateKey: KeyObject,
  { subject, names, purpose }: Omit<RequestPlan, 'generate'> & { purpose: CertificatePurpose },
): ParsedCsr {
  const publicKey = importPublicKey(exportPublicKey(privateKey));
  const usage = purpose === 'mdm.webcrt' ? serverUsage(publicKey) : undefined;
  const der = buildCsr({
    subject,
    publicKey,
    privateKey,
    subjectAltName: names.length > 0 ? names : undefined,
    keyUsage: usage?.keyUsage,
    extendedKeyUsage: usage?.extendedKeyUsage,
  });
  return parseCsr(der);
}

/** The usages of a TLS server's key; an RSA key also decrypts, up to TLS 1.2. */
function serverUsage(key: KeyObject): Pick<BuildCsrOptions, 'keyUsage' | 'extendedKeyUsage'> {
  const isRsa = describeKey(key).type === 'RSA';
  return {
    keyUsage: isRsa ? ['digitalSignature', 'keyEncipherment'] : ['digitalSignature'],
    extendedKeyUsage: [Oid.serverAuth],
  };
}
