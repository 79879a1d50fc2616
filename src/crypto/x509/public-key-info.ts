import { readDer, Tag, wholeOctets } from '../asn1/der.js';
import { Oid } from '../asn1/oids.js';
import type { KeyDescription } from '../keys/keys.js';

const CURVE_BITS = new Map([
  ['1.2.840.10045.3.1.7', 256],
  ['1.3.132.0.34', 384],
  ['1.3.132.0.35', 521],
]);

/**
 * Kind and size of the key in a SubjectPublicKeyInfo (DER), from its bytes alone: node:crypto needs
 * ten times as long to import an EC key as to parse its certificate. Undefined for other kinds.
 */
export function describePublicKeyInfo(spki: Buffer): KeyDescription | undefined {
  try {
    return read(spki);
  } catch {
    return undefined;
  }
}

function read(spki: Buffer): KeyDescription | undefined {
  const members = readDer(spki).sequence();
  const algorithm = members.sequence();
  const kind = algorithm.oid();
  if (kind === Oid.rsaEncryption) {
    return { type: 'RSA', bits: modulusBits(wholeOctets(members.next())) };
  }
  const bits = kind === Oid.ecPublicKey ? CURVE_BITS.get(algorithm.oid()) : undefined;
  return bits === undefined ? undefined : { type: 'EC', bits };
}

function modulusBits(key: Buffer): number {
  const modulus = readDer(key).sequence().next(Tag.integer).content;
  const first = modulus.findIndex((octet) => octet !== 0);
  return first < 0 ? 0 : (modulus.length - first) * 8 - Math.clz32(modulus[first] ?? 0) + 24;
}
