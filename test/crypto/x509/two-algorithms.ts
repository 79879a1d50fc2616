import type { KeyObject } from 'node:crypto';
import { derBitString, derSequence, readDer } from '../../../src/crypto/asn1/der.js';
import { createSignature } from '../../../src/crypto/keys/algorithms.js';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';

export interface TwoAlgorithms {
  /** DER AlgorithmIdentifier in the signed part. */
  inner: Buffer;
  /** The one beside the signature. */
  outer: Buffer;
  issuerKey: KeyObject;
}

/** The certificate with these algorithms, signed anew. Returns DER. */
export function withAlgorithms(
  { tbs }: ParsedCertificate,
  { inner, outer, issuerKey }: TwoAlgorithms,
): Buffer {
  const members = readDer(tbs).sequence();
  const parts: Buffer[] = [];
  while (!members.done) parts.push(members.next().raw);
  const [version = Buffer.alloc(0), serial = Buffer.alloc(0), , ...others] = parts;
  const signed = derSequence(version, serial, inner, ...others);
  return derSequence(signed, outer, derBitString(createSignature(issuerKey, 'sha256', signed)));
}

/** The same certificate with another algorithm beside its signature, as anyone can make it. */
export function withOuterAlgorithm(der: Buffer, outer: Buffer): Buffer {
  const members = readDer(der).sequence();
  const [signed] = [members.next().raw, members.next()];
  return derSequence(signed, outer, members.next().raw);
}
