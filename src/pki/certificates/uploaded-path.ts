import type { KeyObject } from 'node:crypto';
import { keysMatch } from '../../crypto/keys/keys.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';

/** Certificates and keys as they came, in any order. */
export interface Parts {
  certificates: ParsedCertificate[];
  keys: KeyObject[];
}

export function isKeyOf(key: KeyObject, certificate: ParsedCertificate): boolean {
  try {
    return keysMatch(key, certificate.publicKey);
  } catch {
    return false;
  }
}

/** The one that issued none of the others; with a key, the one that the key belongs to. */
export function findLeaf({ certificates, keys }: Parts): ParsedCertificate | undefined {
  const ends = certificates.filter(
    (issuer) => !certificates.some((other) => other !== issuer && isIssuedBy(other, issuer)),
  );
  const owned = ends.filter((certificate) => keys.some((key) => isKeyOf(key, certificate)));
  const found = owned.length > 0 ? owned : ends;
  return found.length === 1 ? found[0] : undefined;
}

interface Ordered {
  /** Issuer after issuer; where a CA has several certificates, all of them. */
  path: ParsedCertificate[];
  /** What has no part in vouching for the leaf. */
  strangers: ParsedCertificate[];
}

/** Sorts what came with the leaf. */
export function pathOf(leaf: ParsedCertificate, others: ParsedCertificate[]): Ordered {
  const path: ParsedCertificate[] = [];
  const strangers = new Set(others);
  for (const below of walk(leaf, path)) {
    const issuers = [...strangers].filter((other) => isIssuedBy(below, other));
    for (const issuer of issuers) strangers.delete(issuer);
    path.push(...issuers);
  }
  return { path, strangers: [...strangers] };
}

/** The leaf, then the path as far as it has grown meanwhile. */
function* walk(leaf: ParsedCertificate, path: ParsedCertificate[]): Generator<ParsedCertificate> {
  yield leaf;
  yield* path;
}
