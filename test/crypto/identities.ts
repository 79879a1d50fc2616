import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Curve, generateEcKeyPair, type KeyPair } from '../../src/crypto/keys/keys.js';
import {
  type IssueCertificateOptions,
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../src/crypto/x509/certificate.js';
import { AppError, type ErrorCode } from '../../src/errors.js';
import { nextKeys } from '../helpers/prepared-keys.js';

export interface Identity extends KeyPair {
  certificate: ParsedCertificate;
}

const DAY = 86_400_000;
const defaults = {
  notBefore: new Date(Date.now() - DAY),
  notAfter: new Date(Date.now() + DAY),
} as const;

type Overrides = Partial<Omit<IssueCertificateOptions, 'issuer' | 'issuerKey'>> & {
  issuedBy?: Identity;
};

export function identityOf(keys: KeyPair, { issuedBy, ...overrides }: Overrides = {}): Identity {
  const issuerKey: KeyObject = issuedBy?.privateKey ?? keys.privateKey;
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Signer' }],
    publicKey: keys.publicKey,
    keyUsage: ['digitalSignature', 'keyEncipherment'],
    ...defaults,
    ...overrides,
    ...(issuedBy && { issuer: issuedBy.certificate }),
    issuerKey,
  });
  return { ...keys, certificate: parseCertificate(der) };
}

export async function rsaIdentity(overrides?: Overrides): Promise<Identity> {
  return identityOf(await nextKeys(), overrides);
}

export async function ecIdentity(curve?: Curve, overrides?: Overrides): Promise<Identity> {
  return identityOf(await generateEcKeyPair(curve), overrides);
}

export const asAuthority = {
  subject: [
    { type: 'O', value: 'Example' },
    { type: 'CN', value: 'Example CA' },
  ],
  isCa: true,
  pathLength: 0,
  keyUsage: ['keyCertSign', 'cRLSign'],
} as const satisfies Overrides;

export function fixture(path: string): Buffer {
  return readFileSync(join(__dirname, '..', 'fixtures', path));
}

/** The code of the AppError that the work throws; other errors are rethrown. */
export function codeOf(work: () => unknown): ErrorCode | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

/** A small seeded generator (mulberry32): the same mutations in every run. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Copies with one to four octets changed, removed or doubled. */
export function* mutations(original: Buffer, count: number, seed = 1): Generator<Buffer> {
  const random = seededRandom(seed);
  for (let made = 0; made < count; made += 1) {
    const octets = [...original];
    for (let change = random(4); change >= 0; change -= 1) {
      const at = random(octets.length);
      const kind = random(4);
      if (kind === 0) octets.splice(at, 1);
      else if (kind === 1) octets.splice(at, 0, octets[at] ?? 0);
      else octets[at] = random(256);
    }
    yield Buffer.from(octets);
  }
}
