import type { KeyObject } from 'node:crypto';
import {
  describeKey,
  generateEcKeyPair,
  generateRsaKeyPair,
  type KeyDescription,
} from '../../crypto/keys/keys.js';
import type { CertificatePurpose } from '../../db/pki/certificate-repository.js';
import type { ErrorDetail } from '../../errors.js';
import { attributeFault } from '../certificates/attribute-refusal.js';

const RSA_BITS = { least: 2048, most: 4096, usual: 2048 };
const CURVES = new Map([
  [256, 'P-256'],
  [384, 'P-384'],
  [521, 'P-521'],
] as const);

/** Apple's portals accept only RSA keys of 2048 bits for these. */
const APPLE_BITS = 2048;
const MADE_BY_APPLE: CertificatePurpose[] = ['mdm.pushcert', 'mdm.vendor'];

export interface RequestedKey {
  purpose: CertificatePurpose;
  key_type?: 'RSA' | 'EC' | null;
  /** Bits of the modulus or of the curve's field. */
  key_size?: number | null;
}

/** Why no CA would issue a certificate for the purpose to the key; undefined if it would. */
export function keyFault(
  { type, bits }: KeyDescription,
  purpose: CertificatePurpose,
): string | undefined {
  if (!MADE_BY_APPLE.includes(purpose) || (type === 'RSA' && bits === APPLE_BITS)) return undefined;
  const only = `RSA keys of ${APPLE_BITS} bits`;
  return `Apple issues ${purpose} to ${only} only, and this is ${type} of ${bits}`;
}

/** As `keyFault`, for a key object. */
export function faultOfKey(key: KeyObject, purpose: CertificatePurpose): string | undefined {
  return keyFault(describeKey(key), purpose);
}

/** Returns the generator of the requested key. Adds the faults of the request to `faults`. */
export function readRequestedKey(
  requested: RequestedKey,
  faults: ErrorDetail[],
): () => Promise<{ privateKey: KeyObject }> {
  const type = requested.key_type ?? 'RSA';
  const bits = requested.key_size ?? (type === 'EC' ? 256 : RSA_BITS.usual);
  const curve = CURVES.get(bits as 256);
  const sizeFault = type === 'EC' ? faultOfCurve(curve) : faultOfBits(bits);
  const fault = sizeFault ?? keyFault({ type, bits }, requested.purpose);
  const at = sizeFault === undefined && type === 'EC' ? 'key_type' : 'key_size';
  if (fault !== undefined) faults.push(attributeFault(at, `${at}: ${fault}`));
  return () => (type === 'EC' ? generateEcKeyPair(curve) : generateRsaKeyPair(bits));
}

function faultOfCurve(curve: string | undefined): string | undefined {
  return curve === undefined ? '256, 384 or 521 for EC' : undefined;
}

function faultOfBits(bits: number): string | undefined {
  const { least, most } = RSA_BITS;
  if (bits >= least && bits <= most && bits % 256 === 0) return undefined;
  return `${least} to ${most} for RSA, in steps of 256`;
}
