import { isIP, SocketAddress } from 'node:net';
import type { GeneralName } from '../../crypto/x509/certificate.js';

const PREFIXED = /^(DNS|IP|email|URI):(.+)$/i;

const TESTS = {
  dns: (value: string) =>
    /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9-]{1,63}$/i.test(value),
  ip: (value: string) => isIP(value) !== 0 && !(value.includes(':') && value.includes('.')),
  email: (value: string) => /^[\x21-\x7e]+@[\x21-\x7e]+$/.test(value),
  uri: (value: string) => /^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/i.test(value),
} as const;

type Kind = keyof typeof TESTS;

/**
 * `DNS:mdm.example.com`, `IP:…`, `email:…`, `URI:…`, or without the prefix. undefined for others.
 */
export function parseAlternativeName(text: string): GeneralName | undefined {
  const [, prefix, rest] = PREFIXED.exec(text.trim()) ?? [];
  const value = rest ?? text.trim();
  const type = prefix === undefined ? kindOf(value) : (prefix.toLowerCase() as Kind);
  return TESTS[type](value) ? { type, value } : undefined;
}

const PREFIXES = { dns: 'DNS', ip: 'IP', email: 'email', uri: 'URI', upn: 'UPN' } as const;

/** The form that `parseAlternativeName` reads; IPv6 addresses shortened by RFC 5952. */
export function formatAlternativeName({ type, value }: GeneralName): string {
  const isV6 = type === 'ip' && isIP(value) === 6;
  const shown = isV6 ? new SocketAddress({ address: value, family: 'ipv6' }).address : value;
  return `${PREFIXES[type]}:${shown}`;
}

/** The alternative name for a common name that is an address or a full host name. */
export function hostNameOf(commonName: string): GeneralName | undefined {
  if (isIP(commonName) !== 0) return parseAlternativeName(commonName);
  const isHost = /\.[a-z][a-z0-9-]*$/i.test(commonName) && TESTS.dns(commonName);
  return isHost || commonName === 'localhost' ? { type: 'dns', value: commonName } : undefined;
}

function kindOf(value: string): Kind {
  if (isIP(value) !== 0) return 'ip';
  if (value.includes('://')) return 'uri';
  return value.includes('@') ? 'email' : 'dns';
}
