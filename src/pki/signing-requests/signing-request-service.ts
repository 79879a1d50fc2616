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
import { attributeFault, refusal } from '../certificates/attribute-faults.js';
import { requireAppleAccount } from '../certificates/certificate-origin.js';
import { findKeyFor, keepPrivateKey, openPrivateKey } from '../certificates/stored-keys.js';
import { faultOfKey, type RequestedKey, readRequestedKey } from './signing-request-key.js';
import {
  readRequestText,
  type SigningRequestView,
  signingRequestView,
} from './signing-request-reader.js';
import { hasParts, readSubject, type SubjectInput } from './signing-request-subject.js';

export interface SigningRequestInput extends SubjectInput, RequestedKey {
  /** A request made elsewhere: PEM, or DER as base64. */
  pem_request?: string | null;
  subject_alt_names?: string[] | null;
  /** Of push certificates only. */
  apple_account?: string | null;
  /** A stored key to be used in place of a new one. */
  privateKeyId?: number | null;
}

export interface SigningRequestChange {
  id: number;
  purpose?: CertificatePurpose;
}

interface Wanted {
  subject: NameAttribute[];
  names: GeneralName[];
  generate: () => Promise<{ privateKey: KeyObject }>;
}

interface Made {
  request: ParsedCsr;
  keyId: number | null;
}

const KEY_POINTER = '/data/relationships/rsa_private_key/data';
/** Said by the request itself, where one is sent. */
const WISHES = ['key_type', 'key_size', 'subject_alt_names'] as const;

/** Certificate signing requests as the JSON:API resources know them. */
export class SigningRequestService {
  constructor(private readonly box: SecretBox) {}

  /** Returns the new row's id. AppError 422 naming each fault. */
  async add(trx: Transaction, input: SigningRequestInput): Promise<number> {
    refuseContradictions(input);
    requireAppleAccount(input.apple_account);
    const isGiven = typeof input.pem_request === 'string';
    const { request, keyId } = await (isGiven ? this.#take(trx, input) : this.#make(trx, input));
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
    const isPush = purpose === 'mdm.pushcert';
    await updateSigningRequest(trx, id, { purpose, ...(isPush ? {} : { apple_account: null }) });
  }

  /** PEM of a stored request (DER). */
  present(der: Buffer): string {
    return encodePem('CERTIFICATE REQUEST', der);
  }

  /** What a stored request (DER) says; undefined where it can't be read. */
  view(der: Buffer): SigningRequestView | undefined {
    return signingRequestView(der);
  }

  async #take(trx: Transaction, input: SigningRequestInput): Promise<Made> {
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

  async #make(trx: Transaction, input: SigningRequestInput): Promise<Made> {
    const { generate, ...wanted } = readWanted(input);
    const { privateKeyId } = input;
    const isStored = typeof privateKeyId === 'number';
    const privateKey = isStored
      ? await this.#storedKey(trx, privateKeyId, input.purpose)
      : (await generate()).privateKey;
    const request = buildRequest(privateKey, { ...wanted, purpose: input.purpose });
    const name = request.commonName ?? null;
    const keyId = isStored
      ? privateKeyId
      : await keepPrivateKey(trx, this.box, { key: privateKey, name });
    return { request, keyId };
  }

  async #storedKey(trx: Transaction, id: number, purpose: CertificatePurpose): Promise<KeyObject> {
    const { key } = await openPrivateKey(trx, this.box, id);
    const fault = faultOfKey(key, purpose);
    if (fault === undefined) return key;
    throw new AppError('validation_failed', 422, fault, { source: { pointer: KEY_POINTER } });
  }
}

function buildRequest(
  privateKey: KeyObject,
  { subject, names, purpose }: Omit<Wanted, 'generate'> & { purpose: CertificatePurpose },
): ParsedCsr {
  const publicKey = importPublicKey(exportPublicKey(privateKey));
  const der = buildCsr({
    ...{ subject, publicKey, privateKey },
    ...(names.length > 0 && { subjectAltName: names }),
    ...(purpose === 'mdm.webcrt' && serverUsage(publicKey)),
  });
  return parseCsr(der);
}

/** What a TLS server does with its key; RSA also decrypts, up to TLS 1.2. */
function serverUsage(key: KeyObject): Pick<BuildCsrOptions, 'keyUsage' | 'extendedKeyUsage'> {
  const isRsa = describeKey(key).type === 'RSA';
  return {
    keyUsage: isRsa ? ['digitalSignature', 'keyEncipherment'] : ['digitalSignature'],
    extendedKeyUsage: [Oid.serverAuth],
  };
}

function refuseContradictions(input: SigningRequestInput): void {
  const faults: ErrorDetail[] = [];
  const isGiven = typeof input.pem_request === 'string';
  const forms = [input.subject !== undefined, hasParts(input), isGiven].filter((form) => form);
  if (forms.length !== 1) {
    const detail = 'send either subject, its parts (x509_cn and others) or pem_request';
    faults.push(attributeFault('subject', detail));
  }
  if (typeof input.apple_account === 'string' && input.purpose !== 'mdm.pushcert') {
    const detail = 'apple_account: only push certificates (mdm.pushcert) belong to one';
    faults.push(attributeFault('apple_account', detail));
  }
  const wishes = WISHES.filter((name) => isGiven && (input[name] ?? null) !== null);
  const detail = 'pem_request is taken as it is';
  faults.push(...wishes.map((name) => attributeFault(name, `${name}: ${detail}`)));
  if (faults.length > 0) throw refusal(faults);
}

function readWanted(input: SigningRequestInput): Wanted {
  const faults: ErrorDetail[] = [];
  const subject = readSubject(input, faults);
  const names = readNames(input.subject_alt_names ?? [], faults);
  const generate = readRequestedKey(input, faults);
  if (faults.length > 0) throw refusal(faults);
  const isBare = input.purpose === 'mdm.webcrt' && names.length === 0;
  return { subject, names: isBare ? namesOf(subject) : names, generate };
}

/** Browsers look at the alternative names only. */
function namesOf(subject: NameAttribute[]): GeneralName[] {
  const commonName = subject.find(({ type }) => type === 'CN');
  const name = commonName && hostNameOf(commonName.value);
  return name === undefined ? [] : [name];
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
