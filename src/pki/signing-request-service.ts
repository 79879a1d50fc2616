import type { KeyObject } from 'node:crypto';
import { decodeBase64 } from '../crypto/base64.js';
import type { GeneralName } from '../crypto/certificate.js';
import { buildCsr, type ParsedCsr, parseCsr } from '../crypto/csr.js';
import {
  exportPublicKey,
  generateEcKeyPair,
  generateRsaKeyPair,
  importPublicKey,
  publicKeyFingerprint,
} from '../crypto/keys.js';
import type { NameAttribute } from '../crypto/names.js';
import { parseDistinguishedName } from '../crypto/parse-distinguished-name.js';
import { decodePem, encodePem, isPem } from '../crypto/pem.js';
import type { SecretBox } from '../crypto/secret-box.js';
import type { CertificatePurpose } from '../db/certificate-repository.js';
import { insertSigningRequest } from '../db/signing-request-repository.js';
import type { Transaction } from '../db/unit-of-work.js';
import { AppError, type ErrorDetail } from '../errors.js';
import { parseAlternativeName } from './alternative-names.js';
import { attributeFault, refusal } from './faults.js';
import { findKeyFor, keepPrivateKey, openPrivateKey } from './stored-keys.js';

const LONGEST_COMMON_NAME = 64;
const RSA_BITS = { least: 2048, most: 4096, usual: 2048 };
const CURVES = new Map([
  [256, 'P-256'],
  [384, 'P-384'],
  [521, 'P-521'],
] as const);

export interface SigningRequestInput {
  purpose: CertificatePurpose;
  /** RFC 4514, or OpenSSL's form with slashes. */
  subject?: string;
  /** A request made elsewhere: PEM, or DER as base64. */
  pem_request?: string | null;
  key_type?: 'RSA' | 'EC' | null;
  /** Bits of the modulus or of the curve's field. */
  key_size?: number | null;
  subject_alt_names?: string[] | null;
  /** A stored key to be used in place of a new one. */
  privateKeyId?: number | null;
}

interface Wanted {
  subject: NameAttribute[];
  names: GeneralName[];
  generate: () => Promise<{ privateKey: KeyObject }>;
}

/** Certificate signing requests as the JSON:API resources know them. */
export class SigningRequestService {
  constructor(private readonly box: SecretBox) {}

  /** Returns the new row's id. AppError 422 naming each fault. */
  async add(trx: Transaction, input: SigningRequestInput): Promise<number> {
    const isGiven = typeof input.pem_request === 'string';
    if (isGiven === (input.subject !== undefined)) {
      throw refusal([attributeFault('subject', 'send either subject or pem_request')]);
    }
    const { request, keyId } = await (isGiven ? this.#take(trx, input) : this.#make(trx, input));
    return insertSigningRequest(trx, {
      purpose: input.purpose,
      subject: request.subject,
      der: request.der,
      public_key_fingerprint: publicKeyFingerprint(request.publicKey),
      rsa_private_key_id: keyId,
    });
  }

  /** PEM of a stored request (DER). */
  present(der: Buffer): string {
    return encodePem('CERTIFICATE REQUEST', der);
  }

  async #take(trx: Transaction, { pem_request, privateKeyId }: SigningRequestInput) {
    const request = readRequest(pem_request ?? '');
    const found = await findKeyFor(trx, request.publicKey);
    if (typeof privateKeyId === 'number' && found !== privateKeyId) {
      const source = { pointer: '/data/relationships/rsa_private_key/data' };
      const message = 'the private key does not belong to the request';
      throw new AppError('key_mismatch', 422, message, { source });
    }
    return { request, keyId: found };
  }

  async #make(trx: Transaction, input: SigningRequestInput) {
    const { subject, names, generate } = readWanted(input);
    const isStored = typeof input.privateKeyId === 'number';
    const { privateKey } = isStored
      ? { privateKey: (await openPrivateKey(trx, this.box, Number(input.privateKeyId))).key }
      : await generate();
    const publicKey = importPublicKey(exportPublicKey(privateKey));
    const der = buildCsr({
      ...{ subject, publicKey, privateKey },
      ...(names.length > 0 && { subjectAltName: names }),
    });
    const request = parseCsr(der);
    const name = request.commonName ?? null;
    const keyId = isStored
      ? Number(input.privateKeyId)
      : await keepPrivateKey(trx, this.box, { key: privateKey, name });
    return { request, keyId };
  }
}

function readRequest(text: string): ParsedCsr {
  try {
    return parseCsr(requestBytes(text));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw refusal([attributeFault('pem_request', `pem_request: ${error.message}`, error.code)]);
  }
}

function requestBytes(text: string): Buffer {
  const unreadable = new AppError('invalid_asn1', 400, 'it holds no certificate request');
  if (isPem(Buffer.from(text))) {
    const requests = decodePem(text).filter(({ label }) =>
      /^(NEW )?CERTIFICATE REQUEST$/.test(label),
    );
    if (requests.length !== 1 || requests[0] === undefined) throw unreadable;
    return requests[0].der;
  }
  const der = decodeBase64(text.replace(/\s+/g, ''));
  if (der === undefined) throw unreadable;
  return der;
}

function readWanted(input: SigningRequestInput): Wanted {
  const faults: ErrorDetail[] = [];
  const wanted = {
    subject: readSubject(input.subject ?? '', faults),
    names: readNames(input.subject_alt_names ?? [], faults),
    generate: readKeyWish(input, faults),
  };
  if (faults.length > 0) throw refusal(faults);
  return wanted;
}

function readSubject(text: string, faults: ErrorDetail[]): NameAttribute[] {
  try {
    const subject = parseDistinguishedName(text);
    faults.push(...nameFaults(subject).map((fault) => attributeFault('subject', fault)));
    return subject;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.push(attributeFault('subject', `subject: ${error.message}`));
    return [];
  }
}

/** What CAs refuse by the bounds of X.520 and RFC 5280 appendix A. */
function nameFaults(subject: NameAttribute[]): string[] {
  return subject.flatMap(({ type, value }) => {
    if (type === 'C' && !/^[A-Za-z]{2}$/.test(value)) {
      return ['subject: the country (C) must be 2 letters'];
    }
    if (type !== 'CN' || [...value].length <= LONGEST_COMMON_NAME) return [];
    return [`subject: the common name (CN) has at most ${LONGEST_COMMON_NAME} characters`];
  });
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

function readKeyWish(input: SigningRequestInput, faults: ErrorDetail[]): Wanted['generate'] {
  const { key_type, key_size } = input;
  const { least, most, usual } = RSA_BITS;
  if (key_type === 'EC') {
    const curve = CURVES.get((key_size ?? 256) as 256);
    if (!curve) faults.push(attributeFault('key_size', 'key_size: 256, 384 or 521 for EC'));
    return () => generateEcKeyPair(curve);
  }
  const bits = key_size ?? usual;
  if (bits < least || bits > most || bits % 256 !== 0) {
    const detail = `key_size: ${least} to ${most} for RSA, in steps of 256`;
    faults.push(attributeFault('key_size', detail));
  }
  return () => generateRsaKeyPair(bits);
}
