import { type KeyObject, sign, verify } from 'node:crypto';
import { AppError } from '../../errors.js';
import { derNull, derOid, derSequence, Tag } from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import type { DigestName } from './digests.js';
import type { VerificationKey } from './keys.js';
import { verifyPss } from './rsa-pss.js';

export {
  type AlgorithmIdentifier,
  algorithmIdentifier,
  type DigestName,
  digestAlgorithm,
  digestName,
  readAlgorithm,
  readAlgorithmIdentifier,
} from './digests.js';

interface SignatureScheme {
  keyType: 'rsa' | 'ec';
  /** Absent where another field names the digest. */
  digest?: DigestName;
}

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

/** Whether `verifySignature` knows the algorithm of this dotted name. */
export function isSignatureAlgorithm(oid: string): boolean {
  return schemeByOid.has(oid) || oid === Oid.rsassaPss;
}

export interface SignatureCheck {
  /** Dotted name in the signatureAlgorithm field. */
  algorithm: string;
  /** DER of that field's parameters: RSASSA-PSS has some, PKCS #1 v1.5 NULL or none. */
  parameters?: Buffer | undefined;
  publicKey: VerificationKey;
  signed: Buffer;
  signature: Buffer;
  /** The digest that a neighbouring field names (CMS); the scheme's own must then be the same. */
  digest?: DigestName;
}

/** Whether the signature is right: RSA PKCS #1 v1.5 or PSS, or ECDSA, of a key of that kind. */
export function verifySignature(check: SignatureCheck): boolean {
  if (check.algorithm === Oid.rsassaPss) return verifyPss(check);
  const scheme = schemeByOid.get(check.algorithm);
  const digest = check.digest ?? scheme?.digest;
  if (scheme === undefined || digest === undefined) return false;
  if (scheme.digest !== undefined && scheme.digest !== digest) return false;
  if (check.publicKey.asymmetricKeyType !== scheme.keyType) return false;
  if (scheme.keyType === 'rsa' && hasParameters(check)) return false;
  try {
    return verify(digest, check.signed, check.publicKey, check.signature);
  } catch {
    return false;
  }
}

/**
 * DER AlgorithmIdentifier of a certificate's or request's signature by the key: NULL parameters for
 * RSA, none for ECDSA.
 */
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

/** As createSignature, without holding up the event loop. */
export function createSignatureLater(
  key: KeyObject,
  digest: DigestName,
  data: Buffer,
): Promise<Buffer> {
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec') {
    throw new AppError('invalid_certificate', 400, 'unsupported kind of signing key');
  }
  return new Promise((resolve, reject) => {
    sign(digest, data, key, (error, signature) => {
      if (error === null) resolve(signature);
      else reject(error);
    });
  });
}

function hasParameters({ parameters }: SignatureCheck): boolean {
  return parameters !== undefined && !(parameters.length === 2 && parameters[0] === Tag.null);
}
