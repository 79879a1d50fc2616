import { Oid } from './oids.js';

export interface ContentCipher {
  oid: string;
  /** Name of the cipher in node:crypto. */
  name: string;
  keyBytes: number;
  ivBytes: number;
}

export const contentCiphers = {
  'aes-128-cbc': { oid: Oid.aes128Cbc, name: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  'aes-192-cbc': { oid: Oid.aes192Cbc, name: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  'aes-256-cbc': { oid: Oid.aes256Cbc, name: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
  'des-ede3-cbc': { oid: Oid.desEde3Cbc, name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 },
} as const;

/** Single DES is only read, for old SCEP clients: three times the same key in 3DES is DES. */
export const readableCiphers: ContentCipher[] = [
  ...Object.values(contentCiphers),
  { oid: Oid.desCbc, name: 'des-ede3-cbc', keyBytes: 8, ivBytes: 8 },
];

/** What the server writes. */
export type ContentAlgorithm = keyof typeof contentCiphers;
