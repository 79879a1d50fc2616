import { type Config, isLoopback } from '../../config/config.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import {
  describeHosts,
  hostOf,
  isForHost,
  purposeFault,
} from '../certificates/certificate-fitness.js';

/** A warning about how this process speaks TLS. */
export interface TlsCaveat {
  code: TlsCaveatCode;
  /** What is wrong and what to do. */
  detail: string;
}

export type TlsCaveatCode =
  /** It serves plain HTTP although there is a certificate now. */
  | 'restart_for_https'
  /** It serves plain HTTP although PUBLIC_URL is https, and no proxy is configured. */
  | 'https_without_certificate'
  /** It serves HTTPS with a certificate that is no longer stored. */
  | 'tls_certificate_gone'
  | 'tls_certificate_other_host'
  | 'tls_certificate_unfit'
  /** It serves HTTPS with the former content of the files. */
  | 'tls_files_unusable';

export type TlsConfig = Pick<Config, 'tls' | 'storedTls' | 'publicUrl' | 'trustProxy' | 'role'>;

export interface TlsState {
  config: TlsConfig;
  servesTls: boolean;
  /** The certificate that serves HTTPS, or signs profiles over plain HTTP. */
  certificate: ParsedCertificate | undefined;
  /** Whether the next start would find a certificate. */
  isAtHand: boolean;
  /** The faults of the files now. */
  problems: readonly string[];
}

const RESTART =
  'There is an ssl certificate now, but this process serves plain HTTP until it is started ' +
  'again. Devices that are enrolled with an http: address stay with it: set PUBLIC_URL to an ' +
  'https: one first, or TLS=off if a proxy speaks TLS.';

const GONE =
  'HTTPS is served with an ssl certificate that is no longer stored, or cannot be used; after ' +
  'the next start it would be plain HTTP. POST one with its private key to ' +
  '/api/v1/ssl_certificates.';

/** Every present warning. */
export function tlsCaveats(state: TlsState): TlsCaveat[] {
  return state.servesTls ? ofHttps(state) : ofPlainHttp(state);
}

/**
 * The host that new ssl certificates must be for; undefined = any, as for a loopback PUBLIC_URL.
 */
export function requiredHost({ storedTls, publicUrl }: TlsConfig): string | undefined {
  const host = hostOf(publicUrl);
  return storedTls && !isLoopback(host) ? host : undefined;
}

function ofHttps({ config, certificate, isAtHand, problems }: TlsState): TlsCaveat[] {
  const found = (code: TlsCaveatCode, details: string[]) =>
    details.map((detail) => ({ code, detail }));
  return [
    ...found('tls_certificate_gone', isAtHand ? [] : [GONE]),
    ...found('tls_files_unusable', unusableFiles(problems)),
    ...found('tls_certificate_unfit', certificate ? unfit(certificate, config) : []),
    ...found('tls_certificate_other_host', certificate ? otherHost(certificate, config) : []),
  ];
}

function unusableFiles(problems: readonly string[]): string[] {
  if (problems.length === 0) return [];
  return [
    'TLS_CERT_FILE and TLS_KEY_FILE have changed and cannot be used: HTTPS is served with their ' +
      `former content, but the next start would fail. ${problems.join('; ')}.`,
  ];
}

function unfit(certificate: ParsedCertificate, config: TlsConfig): string[] {
  const fault = purposeFault(certificate, 'mdm.webcrt');
  if (fault === undefined) return [];
  return [
    `${nameOf(certificate, config)} is refused by devices: ${fault.detail}. Better ` +
      `${remedyOf(config)}.`,
  ];
}

function nameOf({ commonName, subject }: ParsedCertificate, { tls }: TlsConfig): string {
  const where = tls === undefined ? '' : ' (of TLS_CERT_FILE)';
  return `The TLS certificate ${JSON.stringify(commonName ?? subject)}${where}`;
}

function remedyOf({ tls }: TlsConfig): string {
  return tls === undefined
    ? 'POST another one to /api/v1/ssl_certificates'
    : 'replace TLS_CERT_FILE and TLS_KEY_FILE';
}

function otherHost(certificate: ParsedCertificate, config: TlsConfig): string[] {
  const host = hostOf(config.publicUrl);
  if (isForHost(certificate, host)) return [];
  return [
    `${nameOf(certificate, config)} is for ${describeHosts(certificate)}, but the host of ` +
      `PUBLIC_URL is ${host}, so devices refuse it: set PUBLIC_URL to the address that it is for, or ` +
      `${remedyOf(config)}.`,
  ];
}

function ofPlainHttp({ config, isAtHand }: TlsState): TlsCaveat[] {
  const { storedTls, publicUrl, trustProxy, role } = config;
  if (!storedTls) return [];
  if (isAtHand) return [{ code: 'restart_for_https', detail: RESTART }];
  const isProxied = trustProxy.length > 0 || role === 'worker' || !publicUrl.startsWith('https:');
  if (isProxied) return [];
  return [{ code: 'https_without_certificate', detail: withoutCertificate(publicUrl) }];
}

function withoutCertificate(publicUrl: string): string {
  return (
    `PUBLIC_URL is ${publicUrl}, but this process serves plain HTTP, and TRUST_PROXY names no proxy ` +
    'that speaks TLS for it. POST an ssl certificate with its private key to ' +
    '/api/v1/ssl_certificates, or set TLS_CERT_FILE and TLS_KEY_FILE, and start it again; behind a ' +
    'proxy set TRUST_PROXY to its address, or TLS=off.'
  );
}
