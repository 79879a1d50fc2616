import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type ParsedCertificate, parseCertificate } from '../crypto/x509/certificate.js';
import type { ProxyTrust } from '../http/requests/trust-proxy.js';
import type { TrustSubject } from '../pki/trust/trust.js';
import type { SignerCache } from '../protocol/mdm/signer-cache.js';
import {
  invalidClientCertificate,
  readClientCertificateHeader,
} from './client-certificate-header.js';

/** A certificate whose possession was proved in a TLS handshake, here or at a proxy. */
export interface ClientCertificate extends TrustSubject {
  /** SHA-256 of the certificate, 32 bytes. */
  readonly fingerprint: Buffer;
}

export interface ClientCertificateOptions {
  /** Whether certificates of TLS handshakes with this server are accepted. */
  fromTls: boolean;
  /** The proxy's header, in lower case; undefined: none is accepted. */
  header: string | undefined;
  proxies: ProxyTrust;
  signers: SignerCache;
}

/**
 * The client certificate behind a request, undefined when there is none. Throws AppError
 * invalid_certificate (400) when it is forged or unreadable.
 */
export type FindClientCertificate = (req: IncomingMessage) => ClientCertificate | undefined;

/** Intermediates read of those that a client sends. */
const MAX_INTERMEDIATES = 8;

function intermediatesOf(certificate: X509Certificate): ParsedCertificate[] {
  const chain: ParsedCertificate[] = [];
  let issuer = certificate.issuerCertificate;
  while (issuer !== undefined && chain.length < MAX_INTERMEDIATES) {
    chain.push(parseCertificate(issuer.raw));
    issuer = issuer.issuerCertificate;
  }
  return chain;
}

function readPeer(socket: TLSSocket): ClientCertificate | null {
  // Only the first call for a connection has the intermediates.
  const peer = socket.getPeerX509Certificate();
  if (peer === undefined) return null;
  const certificate = parseCertificate(peer.raw);
  return { certificate, fingerprint: certificate.fingerprint, chain: intermediatesOf(peer) };
}

/** Finds the certificates that devices show in TLS handshakes, here or at a proxy. */
export function createClientCertificates(options: ClientCertificateOptions): FindClientCertificate {
  const { fromTls, header, proxies, signers } = options;
  const peers = new WeakMap<Socket, ClientCertificate | null>();

  function ofConnection(socket: Socket): ClientCertificate | undefined {
    if (!(socket instanceof TLSSocket)) return undefined;
    const known = peers.get(socket);
    if (known !== undefined) return known ?? undefined;
    const peer = readPeer(socket);
    peers.set(socket, peer);
    return peer ?? undefined;
  }

  function ofProxy(req: IncomingMessage, name: string): ClientCertificate | undefined {
    const values = req.headersDistinct[name] ?? [];
    if (values.every((value) => value === '')) return undefined;
    const peer = req.socket.remoteAddress;
    if (!proxies.isTrusted(peer)) throw new Error(`forged: ${peer} is not in TRUST_PROXY`);
    const der = readClientCertificateHeader(values);
    if (der === undefined) return undefined;
    const { key, signer } = signers.find(der);
    signers.keep(key, signer);
    return signer;
  }

  return (req) => {
    try {
      const own = fromTls ? ofConnection(req.socket) : undefined;
      return own ?? (header === undefined ? undefined : ofProxy(req, header));
    } catch (cause) {
      throw invalidClientCertificate(cause);
    }
  };
}
