import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';

/** The host of a URL as certificates name it: an IPv6 address stands without brackets. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** Whether clients take the certificate for this host: by its SANs, else by its common name. */
export function isForHost({ der }: ParsedCertificate, host: string): boolean {
  try {
    const certificate = new X509Certificate(der);
    if (isIP(host) !== 0) return certificate.checkIP(host) !== undefined;
    return certificate.checkHost(host, { partialWildcards: false }) !== undefined;
  } catch {
    return false;
  }
}

/** For which hosts it is, for people. */
export function hostsInWords({ subjectAltNames, commonName }: ParsedCertificate): string {
  const named = subjectAltNames.filter(({ type }) => type === 'dns' || type === 'ip');
  const hosts = named.length > 0 ? named.map(({ value }) => value) : [commonName ?? 'no host'];
  const rest = hosts.length > 5 ? ` and ${hosts.length - 5} more` : '';
  return hosts.slice(0, 5).join(', ') + rest;
}
