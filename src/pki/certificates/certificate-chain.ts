import type { KeyObject } from 'node:crypto';
import { readDer } from '../../crypto/asn1/der-reader.js';
import { derSequence } from '../../crypto/asn1/der-writer.js';
import { keysMatch } from '../../crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';
import type { Database } from '../../db/connection/database.js';
import { type CertificateFile, findAuthoritiesNamed } from '../../db/pki/certificate-uses.js';

const LONGEST_CHAIN = 8;

async function findIssuer(
  { knex }: Database,
  certificate: ParsedCertificate,
): Promise<ParsedCertificate | undefined> {
  if (certificate.subjectRaw.equals(certificate.issuerRaw)) return undefined;
  const named = await findAuthoritiesNamed(knex, certificate.issuer);
  return named.map(parseCertificate).find((issuer) => isIssuedBy(certificate, issuer));
}

/** Issuer after issuer, the root too: as they came with it, else of the CAs stored here. */
export async function chainOf(
  db: Database,
  { der, chain_der }: CertificateFile,
): Promise<ParsedCertificate[]> {
  const stored = splitChain(chain_der).map(parseCertificate);
  if (stored.length > 0) return stored;
  const path: ParsedCertificate[] = [];
  for (let last = parseCertificate(der); path.length < LONGEST_CHAIN; ) {
    const issuer = await findIssuer(db, last);
    if (issuer === undefined) break;
    path.push(issuer);
    last = issuer;
  }
  return path;
}

/** The certificates of `chain_der`, which stores them as DER one after the other; each as DER. */
export function splitChain(chain: Buffer | null): Buffer[] {
  if (chain === null) return [];
  const members = readDer(derSequence(chain)).children();
  const certificates: Buffer[] = [];
  while (!members.done) certificates.push(members.next().raw);
  return certificates;
}

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
