import { constants } from 'node:crypto';
import type { Server, ServerOptions } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';

/** PEM of a certificate with its chain, and of its private key. */
export interface TlsPair {
  cert: string | Buffer;
  key: string | Buffer;
}

export interface TlsSettings extends TlsPair {
  /** Ask for a client certificate; the device handler decides whether it is trusted. */
  requestClientCertificate?: boolean | undefined;
  /** Registers a function that is called with each pair that replaces this one. */
  onChange?: ((swap: (pair: TlsPair) => void) => void) | undefined;
}

function contextOptions({ cert, key }: TlsPair, requestClientCertificate: boolean) {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2' as const,
    // A resumed session has the client's certificate, but not its intermediates.
    secureOptions: requestClientCertificate ? constants.SSL_OP_NO_TICKET : undefined,
  };
}

/** An HTTPS server for HTTP/1.1. Open connections keep the pair that they began with. */
export function createTlsServer(
  limits: ServerOptions,
  { requestClientCertificate = false, onChange, ...pair }: TlsSettings,
): Server {
  const server: HttpsServer = createServer({
    ...limits,
    ...contextOptions(pair, requestClientCertificate),
    ALPNProtocols: ['http/1.1'],
    requestCert: requestClientCertificate,
    // The trust store decides which issuers are trusted, not OpenSSL.
    rejectUnauthorized: false,
  });
  onChange?.((next) => server.setSecureContext(contextOptions(next, requestClientCertificate)));
  return server;
}
