import { constants } from 'node:crypto';
import type { Server, ServerOptions } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';

/** PEM of a certificate with its chain, and of its private key. */
export interface TlsPair {
  cert: string | Buffer;
  key: string | Buffer;
}

export interface TlsSettings extends TlsPair {
  /** Ask for a client certificate; whether it is believed is decided by the device handler. */
  requestClientCertificate?: boolean;
  /** Registers what is called with each pair that takes the place of this one. */
  onChange?: (swap: (pair: TlsPair) => void) => void;
}

function contextOptions({ cert, key }: TlsPair, requestClientCertificate: boolean) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    // A session taken up again has the client's certificate, but not the intermediates beside it.
    ...(requestClientCertificate ? { secureOptions: constants.SSL_OP_NO_TICKET } : {}),
  };
}

/**
 * An HTTPS server for HTTP/1.1. Connections that are open go on under the pair they began with when
 * another takes its place.
 */
export function createTlsServer(
  limits: ServerOptions,
  { requestClientCertificate = false, onChange, ...pair }: TlsSettings,
): Server {
  const server: HttpsServer = createServer({
    ...limits,
    ...contextOptions(pair, requestClientCertificate),
    ALPNProtocols: ['http/1.1'],
    requestCert: requestClientCertificate,
    // Which issuers count is the trust store's decision, not OpenSSL's.
    rejectUnauthorized: false,
  });
  onChange?.((next) => server.setSecureContext(contextOptions(next, requestClientCertificate)));
  return server;
}
