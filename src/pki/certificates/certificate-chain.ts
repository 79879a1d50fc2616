import type { KeyObject } from 'node:crypto';
import { readDer } from '../../crypto/asn1/der-reader.js';
import { derSequence } from '../../crypto/asn1/der-writer.js';
import { keysMatch } from '../../crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';
import type { Database } from '../../db/connection/database.js';
import { type CertificateFile, findAuthoritiesNamed } from '../../db/pki/certificate-uses.js';

const MAX_CHAIN_LENGTH = 8;

/** The issuers up to the root: the chain stored with the certificate, else CAs stored here. */
export async function chainOf(
  db: Database,
  { der, chain_der }: CertificateFile,
): Promise<ParsedCertificate[]> {
  const stored = splitChain(chain_der).map(parseCertificate);
  if (stored.length > 0) return stored;
  const path: ParsedCertificate[] = [];
  for (let last = parseCertificate(der); path.length < MAX_CHAIN_LENGTH; ) {
    const issuer = await findIssuer(db, last);
    if (issuer === undefined) break;
    path.push(issuer);
    last = issuer;
  }
  return path;
}

/** The DER of each certificate in `chain_der`, where they are stored one after the other. */
export function splitChain(chain: Buffer | null): Buffer[] {
  if (chain === null) return [];
  const members = readDer(derSequence(chain)).children();
  const certificates: Buffer[] = [];
  while (!members.done) certificates.push(members.next().raw);
  return certificates;
}

/** Uploaded certificates and keys, in any order. */
export interface UploadedParts {
  certificates: ParsedCertificate[];
  keys: KeyObject[];
}

/** Whether the private key belongs to the certificate. */
export function isKeyOf(key: KeyObject, certificate: ParsedCertificate): boolean {
  try {
    return keysMatch(key, certificate.publicKey);
  } catch {
    return false;
  }
}

/** The leaf: the certificate that issued none of the others; of several, the one with a key. */
export function findLeaf({ certificates, keys }: UploadedParts): ParsedCertificate | undefined {
  const ends = certificates.filter(
    (issuer) => !certificates.some((other) => other !== issuer && isIssuedBy(other, issuer)),
  );
  const owned = ends.filter((certificate) => keys.some((key) => isKeyOf(key, certificate)));
  const found = owned.length > 0 ? owned : ends;
  return found.length === 1 ? found[0] : undefined;
}

interface SortedChain {
  /** Issuer after issuer; where a CA has several certificates, all of them. */
  path: ParsedCertificate[];
  /** Certificates that issued neither the leaf nor one of the path. */
  unrelated: ParsedCertificate[];
}

/** Sorts the certificates that were uploaded with the leaf. */
export function sortChain(leaf: ParsedCertificate, others: ParsedCertificate[]): SortedChain {
  const path: ParsedCertificate[] = [];
  const unrelated = new Set(others);
  for (const below of walk(leaf, path)) {
    const issuers = [...unrelated].filter((other) => isIssuedBy(below, other));
    for (const issuer of issuers) unrelated.delete(issuer);
    path.push(...issuers);
  }
  return { path, unrelated: [...unrelated] };
}

async function findIssuer(
  { knex }: Database,
  certificate: ParsedCertificate,
): Promise<ParsedCertificate | undefined> {
  if (certificate.subjectRaw.equals(certificate.issuerRaw)) return undefined;
  const named = await findAuthoritiesNamed(knex, certificate.issuer);
  return named.map(parseCertificate).find((issuer) => isIssuedBy(certificate, issuer));
}

/** The leaf, then the path, including what the caller adds to it during the iteration. */
function* walk(leaf: ParsedCertificate, path: ParsedCertificate[]): Generator<ParsedCertificate> {
  yield leaf;
  yield* path;
}
