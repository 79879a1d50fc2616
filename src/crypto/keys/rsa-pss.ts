import { constants, createPublicKey, KeyObject, sign, verify } from 'node:crypto';
import { AppError } from '../../errors.js';
import { derBitString, derSequence, readDer, wholeOctets } from '../asn1/der.js';
import { type DigestName, digestBytes } from './digests.js';
import type { VerificationKey } from './keys.js';
import { type PssParameters, pssAlgorithm, readPssParameters } from './rsa-parameters.js';

const padding = constants.RSA_PKCS1_PSS_PADDING;

export interface PssCheck {
  /** DER of RSASSA-PSS-params; a signature must have them (RFC 4055 3.1). */
  parameters?: Buffer | undefined;
  publicKey: VerificationKey;
  signed: Buffer;
  signature: Buffer;
  /** The digest that a neighbouring field names; it must be the one of the parameters. */
  digest?: DigestName;
}

/** Whether an RSASSA-PSS signature (RFC 8017 8.1.2) is right. The key is an RSA key of any kind. */
export function verifyPss({ parameters, publicKey, digest, ...check }: PssCheck): boolean {
  if (parameters === undefined) return false;
  try {
    const pss = readPssParameters(parameters);
    const key = keyFor(publicKey, pss);
    if (key === undefined || (digest !== undefined && digest !== pss.digest)) return false;
    const { saltLength } = pss;
    return verify(pss.digest, check.signed, { key, padding, saltLength }, check.signature);
  } catch {
    return false;
  }
}

/**
 * The parameters this server signs with: a salt as long as the digest, the same digest for MGF1.
 */
export function ownPssParameters(digest: DigestName): PssParameters {
  return { digest, mgf1Digest: digest, saltLength: digestBytes[digest] };
}

/**
 * Signs with an RSA key by RSASSA-PSS, with `ownPssParameters`. Other keys: `invalid_certificate`.
 */
export function createPssSignature(key: KeyObject, digest: DigestName, data: Buffer): Buffer {
  if (key.asymmetricKeyType !== 'rsa') {
    throw new AppError('invalid_certificate', 400, 'only RSA keys can sign by RSASSA-PSS');
  }
  return sign(digest, data, { key, padding, saltLength: digestBytes[digest] });
}

/** The key to check with; undefined when the key is for other parameters (RFC 4055 1.2). */
function keyFor(given: VerificationKey, parameters: PssParameters): KeyObject | undefined {
  const key = given instanceof KeyObject ? given : createPublicKey(given);
  const { hashAlgorithm, mgf1HashAlgorithm, saltLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (hashAlgorithm !== undefined) {
    const agrees =
      hashAlgorithm === parameters.digest &&
      mgf1HashAlgorithm === parameters.mgf1Digest &&
      saltLength <= parameters.saltLength;
    return agrees ? key : undefined;
  }
  return parameters.digest === parameters.mgf1Digest ? key : boundKey(key, parameters);
}

/** The same key, bound to the parameters: the only way to set another digest for MGF1 in node. */
function boundKey(key: KeyObject, parameters: PssParameters): KeyObject {
  const info = readDer(key.export({ format: 'der', type: 'spki' })).sequence();
  info.sequence();
  const bits = derBitString(wholeOctets(info.next()));
  const spki = derSequence(pssAlgorithm(parameters), bits);
  return createPublicKey({ key: spki, format: 'der', type: 'spki' });
}
