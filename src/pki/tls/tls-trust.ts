import { rootCertificates } from 'node:tls';
import { decodePemBlock } from '../../crypto/asn1/pem.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import { findCertificatePath, isIssuedBy } from '../../crypto/x509/certificate-path.js';
import type { Database } from '../../db/connection/database.js';
import { findAuthoritiesNamed } from '../../db/pki/certificate-uses.js';
import { listDeviceAnchors } from '../../db/pki/tls-certificate-repository.js';

/**
 * The certificates that this process presents in TLS, as DER, leaf first; empty over plain HTTP.
 */
type TlsChain = readonly Buffer[];

const MAX_CHAIN_LENGTH = 8;

let publicRoots: ParsedCertificate[] | undefined;

/** Cached for the last chain: there is usually one, and the check takes milliseconds. */
let lastVerdict: { chain: string; isTrusted: boolean } | undefined;

/** Whether devices trust the chain without a profile. Its dates are ignored. */
export function isPubliclyTrusted(chain: readonly ParsedCertificate[]): boolean {
  const key = chain.map(({ fingerprint }) => fingerprint.toString('hex')).join();
  if (lastVerdict?.chain !== key) lastVerdict = { chain: key, isTrusted: endsInPublicRoot(chain) };
  return lastVerdict.isTrusted;
}

export function isSelfSigned(certificate: ParsedCertificate): boolean {
  return certificate.subjectRaw.equals(certificate.issuerRaw);
}

/**
 * The certificates that a device must trust to speak TLS to this server, beyond public roots: the
 * chain with its root, if known, and the anchors that an admin has stored for a proxy.
 */
export async function tlsTrust(db: Database, tlsChain: TlsChain): Promise<ParsedCertificate[]> {
  const chain = tlsChain.slice(0, MAX_CHAIN_LENGTH).map(parseCertificate);
  const stored = (await listDeviceAnchors(db.knex)).map(parseCertificate);
  const own = isPubliclyTrusted(chain) ? [] : await withRoot(db, chain);
  const byFingerprint = new Map(
    [...own, ...stored].map((one) => [one.fingerprint.toString('hex'), one]),
  );
  return [...byFingerprint.values()];
}

function endsInPublicRoot([leaf, ...intermediates]: readonly ParsedCertificate[]): boolean {
  if (leaf === undefined) return false;
  const anchors = readPublicRoots();
  const options = { anchors, intermediates, at: new Date(), ignoreDates: 'all' } as const;
  return findCertificatePath(leaf, options) !== undefined;
}

/** Mozilla's list, which Node contains: close to Apple's. */
function readPublicRoots(): ParsedCertificate[] {
  publicRoots ??= rootCertificates.map((pem) =>
    parseCertificate(decodePemBlock(pem, 'CERTIFICATE')),
  );
  return publicRoots;
}

/** Completes the chain from the CAs stored here, since servers usually leave out the root. */
async function withRoot(
  { knex }: Database,
  chain: readonly ParsedCertificate[],
): Promise<ParsedCertificate[]> {
  const whole = [...chain];
  for (let last = whole.at(-1); last !== undefined && !isSelfSigned(last); last = whole.at(-1)) {
    const subject: ParsedCertificate = last;
    const named = (await findAuthoritiesNamed(knex, subject.issuer)).map(parseCertificate);
    const issuer = named.find((candidate) => isIssuedBy(subject, candidate));
    if (issuer === undefined || whole.length >= MAX_CHAIN_LENGTH) break;
    whole.push(issuer);
  }
  return whole;
}
