import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  hash,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '../../errors.js';
import { readDer, Tag, wholeOctets } from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import { isPem } from '../asn1/pem.js';

const generate = promisify(generateKeyPair);
const MIN_RSA_BITS = 1024;
const MAX_RSA_BITS = 8192;
/** A huge exponent makes each verification as slow as a signature. */
const MAX_RSA_EXPONENT = 2n ** 33n;

const curves = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' } as const;

export type Curve = keyof typeof curves;

export interface KeyPair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** Made off the event loop; public exponent 65537. */
export function generateRsaKeyPair(bits = 2048): Promise<KeyPair> {
  return generate('rsa', { modulusLength: bits });
}

/** Generated off the event loop. */
export function generateEcKeyPair(curve: Curve = 'P-256'): Promise<KeyPair> {
  return generate('ec', { namedCurve: curves[curve] });
}

/** A SubjectPublicKeyInfo (DER): RSA of 1024 to 8192 bits, P-256, P-384, P-521. */
export function importPublicKey(spki: Buffer): KeyObject {
  try {
    const rsaKey = rsaPublicKey(spki);
    return supported(
      rsaKey === undefined
        ? createPublicKey({ key: spki, format: 'der', type: 'spki' })
        : createPublicKey({ key: rsaKey, format: 'der', type: 'pkcs1' }),
    );
  } catch (cause) {
    if (cause instanceof AppError && cause.code === 'invalid_certificate') throw cause;
    throw invalidKey('unreadable public key', cause);
  }
}

/** What a signature is verified by: a key in memory, or one that is read for each verification. */
export type VerificationKey = KeyObject | EncodedPublicKey;

/** The form in which `node:crypto` takes a key that it reads, uses once and frees at once. */
export interface EncodedPublicKey {
  readonly asymmetricKeyType: 'rsa' | 'ec';
  readonly key: Buffer;
  readonly format: 'der';
  readonly type: 'pkcs1' | 'spki';
}

/**
 * A key that `importPublicKey` took before, without the memory of a KeyObject: what OpenSSL has
 * allocated for one is freed only by a full garbage collection.
 */
export function verificationKey(spki: Buffer): VerificationKey {
  const rsaKey = rsaPublicKey(spki);
  if (rsaKey !== undefined) {
    return { asymmetricKeyType: 'rsa', key: rsaKey, format: 'der', type: 'pkcs1' };
  }
  const isEc = readDer(spki).sequence().sequence().oid() === Oid.ecPublicKey;
  if (!isEc) return importPublicKey(spki);
  return { asymmetricKeyType: 'ec', key: spki, format: 'der', type: 'spki' };
}

/** The SubjectPublicKeyInfo (DER) of a public or private key. */
export function exportPublicKey(key: KeyObject): Buffer {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey.export({ format: 'der', type: 'spki' });
}

/** PKCS #8 (DER), not encrypted: seal it before it is stored. */
export function exportPrivateKey(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'pkcs8' });
}

/**
 * PKCS #8 in DER, or PEM of PKCS #8, PKCS #1 or SEC 1. The passphrase opens encrypted PEM.
 * @throws AppError `invalid_certificate`
 */
export function importPrivateKey(bytes: Buffer, passphrase?: string): KeyObject {
  try {
    return supported(readPrivateKey(bytes, passphrase));
  } catch (cause) {
    throw cause instanceof AppError ? cause : invalidKey('unreadable private key', cause);
  }
}

/** SHA-256 of the SubjectPublicKeyInfo: 32 bytes, the same for both halves of a pair. */
export function publicKeyFingerprint(key: KeyObject): Buffer {
  return hash('sha256', exportPublicKey(key), 'buffer');
}

/** SHA-1 of the subjectPublicKey bits, method 1 of RFC 5280 4.2.1.2: 20 bytes. */
export function keyIdentifier(key: KeyObject): Buffer {
  const spki = readDer(exportPublicKey(key)).sequence();
  spki.sequence();
  return hash('sha1', wholeOctets(spki.next()), 'buffer');
}

export interface KeyDescription {
  type: 'RSA' | 'EC';
  /** Bits of the modulus or the field: 2048, 256 … */
  bits: number;
}

/** Kind and size of a key. Throws `invalid_certificate` for other kinds than RSA and the curves. */
export function describeKey(key: KeyObject): KeyDescription {
  const { modulusLength, namedCurve } = supported(key).asymmetricKeyDetails ?? {};
  if (modulusLength !== undefined) return { type: 'RSA', bits: modulusLength };
  const curve = Object.entries(curves).find(([, name]) => name === namedCurve)?.[0] ?? '';
  return { type: 'EC', bits: Number(curve.slice('P-'.length)) };
}

/** Whether the private key belongs to the public key, proved by a signature. */
export function keysMatch(privateKey: KeyObject, publicKey: KeyObject): boolean {
  if (privateKey.asymmetricKeyType !== publicKey.asymmetricKeyType) return false;
  const probe = randomBytes(32);
  return verify('sha256', probe, publicKey, sign('sha256', probe, privateKey));
}

/**
 * The RSAPublicKey (RFC 8017 A.1.1) inside a SubjectPublicKeyInfo, undefined for other kinds of
 * key. OpenSSL 3 reads this form thirty times as fast as the SubjectPublicKeyInfo around it.
 */
function rsaPublicKey(spki: Buffer): Buffer | undefined {
  const fields = readDer(spki).sequence();
  const algorithm = fields.sequence();
  if (algorithm.oid() !== Oid.rsaEncryption) return undefined;
  algorithm.optional(Tag.null);
  algorithm.finish();
  const key = wholeOctets(fields.next());
  fields.finish();
  readDer(key).sequence();
  return key;
}

function supported(key: KeyObject): KeyObject {
  if (!isSupported(key)) throw invalidKey('unsupported kind or size of key');
  return key;
}

function isSupported(key: KeyObject): boolean {
  const details = key.asymmetricKeyDetails;
  if (key.asymmetricKeyType === 'ec') {
    return Object.values(curves).some((curve) => curve === details?.namedCurve);
  }
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = details ?? {};
  const sized = bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS && exponent <= MAX_RSA_EXPONENT;
  return isRsa(key) && sized;
}

/** A key that is for RSASSA-PSS only (RFC 4055 1.2) verifies, but signs nothing here. */
function isRsa({ asymmetricKeyType: kind, type }: KeyObject): boolean {
  return kind === 'rsa' || (kind === 'rsa-pss' && type === 'public');
}

function invalidKey(message: string, cause?: unknown): AppError {
  return new AppError('invalid_certificate', 400, message, { cause });
}

function readPrivateKey(bytes: Buffer, passphrase: string | undefined): KeyObject {
  if (!isPem(bytes)) return createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' });
  const encrypted = bytes.includes('ENCRYPTED');
  if (encrypted && passphrase === undefined) throw invalidKey('the private key is encrypted');
  if (!encrypted) return createPrivateKey({ key: bytes, format: 'pem' });
  return createPrivateKey({ key: bytes, format: 'pem', passphrase });
}
