import { type KeyObject, sign, verify } from 'node:crypto';
import { AppError } from '../errors.js';
import { type Asn1Cursor, derNull, derOid, derSequence, Tag } from './der.js';
import { Oid } from './oids.js';

export type DigestName = 'sha1' | 'sha256' | 'sha384' | 'sha512';

interface SignatureScheme {
  keyType: 'rsa' | 'ec';
  /** Absent where the scheme leaves the digest to another field. */
  digest?: DigestName;
}

const digestByOid = new Map<string, DigestName>([
  [Oid.sha1, 'sha1'],
  [Oid.sha256, 'sha256'],
  [Oid.sha384, 'sha384'],
  [Oid.sha512, 'sha512'],
]);

const schemeByOid = new Map<string, SignatureScheme>([
  [Oid.rsaEncryption, { keyType: 'rsa' }],
  [Oid.sha1WithRsa, { keyType: 'rsa', digest: 'sha1' }],
  [Oid.sha256WithRsa, { keyType: 'rsa', digest: 'sha256' }],
  [Oid.sha384WithRsa, { keyType: 'rsa', digest: 'sha384' }],
  [Oid.sha512WithRsa, { keyType: 'rsa', digest: 'sha512' }],
  // Not a signature scheme by the standard, but some signers name the kind of key here.
  [Oid.ecPublicKey, { keyType: 'ec' }],
  [Oid.ecdsaWithSha1, { keyType: 'ec', digest: 'sha1' }],
  [Oid.ecdsaWithSha256, { keyType: 'ec', digest: 'sha256' }],
  [Oid.ecdsaWithSha384, { keyType: 'ec', digest: 'sha384' }],
  [Oid.ecdsaWithSha512, { keyType: 'ec', digest: 'sha512' }],
]);

const digestOids: Record<DigestName, string> = {
  sha1: Oid.sha1,
  sha256: Oid.sha256,
  sha384: Oid.sha384,
  sha512: Oid.sha512,
};

const rsaSignatureOids: Record<DigestName, string> = {
  sha1: Oid.sha1WithRsa,
  sha256: Oid.sha256WithRsa,
  sha384: Oid.sha384WithRsa,
  sha512: Oid.sha512WithRsa,
};

const ecdsaSignatureOids: Record<DigestName, string> = {
  sha1: Oid.ecdsaWithSha1,
  sha256: Oid.ecdsaWithSha256,
  sha384: Oid.ecdsaWithSha384,
  sha512: Oid.ecdsaWithSha512,
};

/** Reads an AlgorithmIdentifier whose parameters are absent or NULL. Returns its dotted name. */
export function readAlgorithm(cursor: Asn1Cursor): string {
  const members = cursor.sequence();
  const oid = members.oid();
  members.optional(Tag.null);
  members.finish();
  return oid;
}

/** Reads an AlgorithmIdentifier and ignores its parameters. */
export function readAlgorithmName(cursor: Asn1Cursor): string {
  return cursor.sequence().oid();
}

/** The digest for a dotted name; undefined for one that is not accepted (MD5 among them). */
export function digestName(oid: string): DigestName | undefined {
  return digestByOid.get(oid);
}

/** Whether `verifySignature` knows the algorithm of this dotted name. */
export function isSignatureAlgorithm(oid: string): boolean {
  return schemeByOid.has(oid);
}

export interface SignatureCheck {
  /** Dotted name in the signatureAlgorithm field. */
  algorithm: string;
  publicKey: KeyObject;
  signed: Buffer;
  signature: Buffer;
  /** The digest that a neighbouring field names (CMS); the scheme's own must then be the same. */
  digest?: DigestName;
}

/** Whether the signature is right: RSA PKCS #1 v1.5, or ECDSA, of a key of the scheme's kind. */
export function verifySignature(check: SignatureCheck): boolean {
  const scheme = schemeByOid.get(check.algorithm);
  const digest = check.digest ?? scheme?.digest;
  if (scheme === undefined || digest === undefined) return false;
  if (scheme.digest !== undefined && scheme.digest !== digest) return false;
  if (check.publicKey.asymmetricKeyType !== scheme.keyType) return false;
  try {
    return verify(digest, check.signed, check.publicKey, check.signature);
  } catch {
    return false;
  }
}

/** DER AlgorithmIdentifier of a digest, without parameters (RFC 5754 2). */
export function digestAlgorithm(digest: DigestName): Buffer {
  return derSequence(derOid(digestOids[digest]));
}

/** DER AlgorithmIdentifier of a certificate's or request's signature by the key: NULL parameters for RSA, none for ECDSA. */
export function signatureAlgorithm(key: KeyObject, digest: DigestName): Buffer {
  if (key.asymmetricKeyType === 'rsa') {
    return derSequence(derOid(rsaSignatureOids[digest]), derNull());
  }
  return derSequence(derOid(ecdsaSignatureOids[digest]));
}

/** As `signatureAlgorithm`, with the identifier that every CMS reader knows (RFC 3370 3.2). */
export function cmsSignatureAlgorithm(key: KeyObject, digest: DigestName): Buffer {
  if (key.asymmetricKeyType === 'rsa') return derSequence(derOid(Oid.rsaEncryption), derNull());
  return signatureAlgorithm(key, digest);
}

/** Signs with an RSA (PKCS #1 v1.5) or EC key. Other kinds of key throw `invalid_certificate`. */
export function createSignature(key: KeyObject, digest: DigestName, data: Buffer): Buffer {
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec') {
    throw new AppError('invalid_certificate', 400, 'unsupported kind of signing key');
  }
  return sign(digest, data, key);
}
