import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type ConnectionOptions, connect, rootCertificates, type TLSSocket } from 'node:tls';

/**
 * The cipher suites of App Transport Security, all with forward secrecy. Weak keys and digests are let
 * through here, so that they can be named.
 */
const ATS_CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ...['ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA256'],
  ...['ECDHE-ECDSA-AES256-SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ...['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ...['ECDHE-RSA-AES256-SHA384', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES128-SHA'],
  ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305', '@SECLEVEL=0'],
].join(':');

type Offer = Pick<ConnectionOptions, 'minVersion' | 'ciphers'>;

/** What devices speak: TLS 1.2 or newer with forward secrecy. */
export const AS_DEVICES: Offer = { minVersion: 'TLSv1.2', ciphers: ATS_CIPHERS };

/** Anything that OpenSSL still knows: to say what a server offers instead. */
export const ANY_TLS: Offer = { minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' };

export interface Handshake {
  /** `TLSv1.3`, `TLSv1.2` … */
  protocol: string;
  cipher: string;
  /** As sent, the leaf first. */
  chain: X509Certificate[];
  isTrusted: boolean;
  /** OpenSSL's code where it is not trusted: `SELF_SIGNED_CERT_IN_CHAIN` … */
  distrust: string | undefined;
}

export interface HandshakeOptions extends Offer {
  host: string;
  port: number;
  /** PEM of CAs to trust beside the public ones. */
  anchors?: readonly string[] | undefined;
  alpn?: string[] | undefined;
  timeoutMs: number;
}

/** Connects and ends the connection after the handshake. Rejects with the error of the socket. */
export function handshake(options: HandshakeOptions): Promise<Handshake> {
  const { host, port, anchors = [], alpn, timeoutMs, minVersion, ciphers } = options;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      minVersion,
      ciphers,
      ALPNProtocols: alpn,
      servername: isIP(host) === 0 ? host : undefined,
      ca: anchors.length > 0 ? [...rootCertificates, ...anchors] : undefined,
      rejectUnauthorized: false,
      // The name is judged apart from the chain.
      checkServerIdentity: () => undefined,
    });
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error(`no answer within ${timeoutMs} ms`), NO_ANSWER));
    }, timeoutMs);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      socket.destroy();
      settle();
    };
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('close', () => end(() => reject(new Error('the connection was closed'))));
    socket.once('secureConnect', () => {
      const seen = describe(socket);
      end(() => resolve(seen));
    });
  });
}

const NO_ANSWER = { code: 'ETIMEDOUT' };

function describe(socket: TLSSocket): Handshake {
  const { authorized, authorizationError } = socket;
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().standardName,
    chain: chainOf(socket),
    isTrusted: authorized,
    distrust: authorized ? undefined : String(authorizationError),
  };
}

/** Node.js links each certificate to its issuer, and a root to itself. */
function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerCertificate(true);
  while (next?.raw !== undefined && chain.length < MAX_CHAIN_LENGTH) {
    const { raw } = next;
    if (chain.some((known) => known.raw.equals(raw))) break;
    chain.push(new X509Certificate(raw));
    next = next.issuerCertificate;
  }
  return chain;
}

const MAX_CHAIN_LENGTH = 10;
