import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { isIssuedBy } from '../../crypto/x509/certificate-path.js';
import type { Database } from '../../db/connection/database.js';
import { type CertificateFile, findAuthoritiesNamed } from '../../db/pki/certificate-uses.js';
import { splitChain } from './stored-chain.js';

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
