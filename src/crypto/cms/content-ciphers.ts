import { Oid } from '../asn1/oids.js';

export interface ContentCipher {
  oid: string;
  /** Name of the cipher in node:crypto. */
  name: string;
  keyBytes: number;
  ivBytes: number;
}

/** For EnvelopedData. */
export const contentCiphers = {
  'aes-128-cbc': { oid: Oid.aes128Cbc, name: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  'aes-192-cbc': { oid: Oid.aes192Cbc, name: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  'aes-256-cbc': { oid: Oid.aes256Cbc, name: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
  'des-ede3-cbc': { oid: Oid.desEde3Cbc, name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 },
} as const;

/** For AuthEnvelopedData (RFC 5084 3.2), which asks for nonces of this length. */
export const gcmCiphers = {
  'aes-128-gcm': { oid: Oid.aes128Gcm, name: 'aes-128-gcm', keyBytes: 16, ivBytes: 12 },
  'aes-192-gcm': { oid: Oid.aes192Gcm, name: 'aes-192-gcm', keyBytes: 24, ivBytes: 12 },
  'aes-256-gcm': { oid: Oid.aes256Gcm, name: 'aes-256-gcm', keyBytes: 32, ivBytes: 12 },
} as const;

/** Single DES is only read, for old SCEP clients: three times the same key in 3DES is DES. */
export const readableCiphers: readonly ContentCipher[] = [
  ...Object.values(contentCiphers),
  { oid: Oid.desCbc, name: 'des-ede3-cbc', keyBytes: 8, ivBytes: 8 },
];

/** What the server writes in EnvelopedData. */
export type ContentAlgorithm = keyof typeof contentCiphers;
/** What the server writes in AuthEnvelopedData. */
export type GcmAlgorithm = keyof typeof gcmCiphers;

export function isGcm(algorithm: ContentAlgorithm | GcmAlgorithm): algorithm is GcmAlgorithm {
  return algorithm in gcmCiphers;
}
