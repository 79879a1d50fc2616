import type { X509Certificate } from 'node:crypto';
import { describeKey } from '../../crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import {
  describeHosts,
  hostOf,
  isForHost,
  purposeFault,
} from '../../pki/certificates/certificate-fitness.js';
import { EXPIRING_DAYS } from '../../pki/credentials/credential-status.js';
import type { Handshake } from '../address/tls-handshake.js';
import { error, type Found, warning } from '../finding.js';

export interface JudgedHandshake {
  publicUrl: string;
  tls: Handshake;
  isTrustedWithAnchors: boolean;
  now: Date;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const LEAST_RSA_BITS = 2048;
const LEAST_EC_BITS = 256;
/** Apple's limit for certificates of any CA (support.apple.com/103769). */
const MAX_DAYS = 825;

const REFUSED = 'Apple devices refuse the connection, so that none enrolls or fetches commands.';
const RENEW =
  'Renew it where TLS ends: in the proxy, in TLS_CERT_FILE and TLS_KEY_FILE, or by POST /api/v1/ssl_certificates.';

/** Everything about the certificate that devices refuse, or soon will. */
export function judgeCertificate({ publicUrl, tls, ...rest }: JudgedHandshake): Found[] {
  const [leaf] = tls.chain;
  if (leaf === undefined) return [];
  const certificate = parsed(leaf);
  if (certificate === undefined) return [unreadable(publicUrl)];
  const subject = { publicUrl, certificate, now: rest.now };
  return [
    ...lifeFaults(subject),
    ...nameFaults(subject),
    ...keyFaults(subject),
    ...purposeFaults(subject),
    ...digestFaults(publicUrl, tls.chain),
    ...trustFaults(publicUrl, tls, rest.isTrustedWithAnchors),
  ];
}

interface Subject {
  publicUrl: string;
  certificate: ParsedCertificate;
  now: Date;
}

function parsed(leaf: X509Certificate): ParsedCertificate | undefined {
  try {
    return parseCertificate(leaf.raw);
  } catch {
    return undefined;
  }
}

function unreadable(publicUrl: string): Found {
  const what = `The certificate of ${publicUrl} cannot be read.`;
  return error('tls_certificate_unreadable', { what, why: REFUSED, cure: RENEW });
}

function lifeFaults({ publicUrl, certificate, now }: Subject): Found[] {
  const { notBefore, notAfter } = certificate;
  const name = `The certificate of ${publicUrl}`;
  const left = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS);
  if (notAfter <= now) {
    const what = `${name} expired on ${dayOf(notAfter)}.`;
    return [error('tls_certificate_expired', { what, why: REFUSED, cure: RENEW })];
  }
  if (notBefore > now) {
    const what = `${name} is not valid before ${notBefore.toISOString()}.`;
    const cure = 'Set the clock of this machine, or use a certificate that is valid now.';
    return [error('tls_certificate_not_yet_valid', { what, why: REFUSED, cure })];
  }
  if (left > EXPIRING_DAYS || left > lifeDays(certificate) / 3) return [];
  const what = `${name} expires on ${dayOf(notAfter)}, in ${left} ${left === 1 ? 'day' : 'days'}.`;
  const why = 'From then on devices refuse the connection.';
  return [warning('tls_certificate_expiring', { what, why, cure: RENEW })];
}

function nameFaults({ publicUrl, certificate }: Subject): Found[] {
  const host = hostOf(publicUrl);
  if (isForHost(certificate, host)) return [];
  const what = `The certificate of ${publicUrl} is for ${describeHosts(certificate)}, not for ${host}.`;
  const cure = `Use a certificate for ${host}, or set PUBLIC_URL to a name of the certificate.`;
  return [error('tls_certificate_wrong_name', { what, why: REFUSED, cure })];
}

function keyFaults({ publicUrl, certificate }: Subject): Found[] {
  const { type, bits } = describeKey(certificate.publicKey);
  if (bits >= (type === 'EC' ? LEAST_EC_BITS : LEAST_RSA_BITS)) return [];
  const what = `The certificate of ${publicUrl} has a key of ${bits} bits (${type}).`;
  const cure = 'Use a certificate with an RSA key of 2048 bits or more, or an ECDSA key on P-256.';
  return [error('tls_certificate_weak_key', { what, why: REFUSED, cure })];
}

function purposeFaults({ publicUrl, certificate }: Subject): Found[] {
  const faults: Found[] = [];
  const fault = purposeFault(certificate, 'mdm.webcrt');
  if (fault !== undefined) {
    const what = `The certificate of ${publicUrl} does not serve TLS: ${fault.detail}.`;
    faults.push(error('tls_certificate_unfit', { what, why: REFUSED, cure: RENEW }));
  }
  const days = Math.round(lifeDays(certificate));
  if (days > MAX_DAYS) {
    const what = `The certificate of ${publicUrl} is valid for ${days} days; devices accept ${MAX_DAYS} at most.`;
    const cure = `Use a certificate that is valid for ${MAX_DAYS} days or less.`;
    faults.push(error('tls_certificate_too_long', { what, why: REFUSED, cure }));
  }
  return faults;
}

/** The signature of a root proves nothing, so that its digest does not matter. */
function digestFaults(publicUrl: string, chain: readonly X509Certificate[]): Found[] {
  const weak = chain.filter(
    (one) => one.subject !== one.issuer && /sha1|md5/i.test(digestOf(one) ?? ''),
  );
  if (weak.length === 0) return [];
  const names = weak.map(({ subject }) => JSON.stringify(subject.replaceAll('\n', ', ')));
  const what = `The chain of ${publicUrl} has a SHA-1 signature: ${names.join('; ')}.`;
  const cure = 'Use certificates that are signed with SHA-256 or better, intermediates too.';
  return [error('tls_certificate_weak_digest', { what, why: REFUSED, cure })];
}

const SHA1_ALGORITHMS: Record<string, string> = {
  '1.2.840.113549.1.1.4': 'md5',
  '1.2.840.113549.1.1.5': 'sha1',
  '1.2.840.10045.4.1': 'sha1',
};

function digestOf({ raw }: X509Certificate): string | undefined {
  try {
    return SHA1_ALGORITHMS[parseCertificate(raw).signatureAlgorithm];
  } catch {
    return undefined;
  }
}

/** OpenSSL found no issuer for the last certificate that was sent. */
const INCOMPLETE = [
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
];

/** An expired leaf is no matter of trust. */
const REPORTED_ELSEWHERE = [
  ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'EE_KEY_TOO_SMALL', 'CA_MD_TOO_WEAK'],
  'INVALID_PURPOSE',
];

function trustFaults(publicUrl: string, tls: Handshake, isTrustedWithAnchors: boolean): Found[] {
  const { isTrusted, distrust = '' } = tls;
  if (isTrusted || isTrustedWithAnchors || REPORTED_ELSEWHERE.includes(distrust)) return [];
  if (INCOMPLETE.includes(distrust)) {
    const what = `The chain that ${publicUrl} sends ends at an unknown issuer (${distrust}).`;
    const cure =
      'Send the intermediate certificates after the leaf (the file is often called fullchain.pem). If a ' +
      'private CA issued it, POST that CA to /api/v1/certificates with purpose dep.anchor.';
    return [error('tls_chain_incomplete', { what, why: REFUSED, cure })];
  }
  const what = `The certificate of ${publicUrl} is of a private CA, or signed by itself (${distrust}).`;
  const why =
    'Only devices that have a profile with its CA trust it: links and over-the-air enrollment show a warning first.';
  const cure =
    'Use a certificate of a public CA, or distribute the CA: POST it to /api/v1/certificates with purpose dep.anchor.';
  return [warning('tls_certificate_private', { what, why, cure })];
}

function lifeDays({ notBefore, notAfter }: ParsedCertificate): number {
  return (notAfter.getTime() - notBefore.getTime()) / DAY_MS;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
