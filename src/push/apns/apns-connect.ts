import { KeyObject } from 'node:crypto';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  TLSSocket,
} from 'node:tls';

/** A push certificate with its key. */
export interface ApnsCredentials {
  /** UID of the certificate's subject: `com.apple.mgmt.…`. */
  topic: string;
  /** PEM; the chain, if any, follows. */
  certificate: string;
  /** PEM if a string. */
  privateKey: string | KeyObject;
  /** Identifies the certificate. */
  fingerprint: string;
}

export interface ApnsConnectOptions {
  /** Origin: https, or http for a stand-in that speaks HTTP/2 from the first octet. */
  host: string;
  /** PEM of the CAs to trust; by default those of Node.js. */
  ca?: string | undefined;
  credentials: ApnsCredentials;
}

export interface ApnsConnection {
  session: ClientHttp2Session;
  socket: Socket;
}

/** Starts to connect; throws when the certificate and its key can't be used. */
export type ApnsConnect = () => ApnsConnection;

const MAX_SESSION_MEMORY_MB = 64;
const KEEP_ALIVE_MS = 60_000;

/** `streams`: most requests at once where the service sets no limit. */
export function createConnect(options: ApnsConnectOptions, streams: number): ApnsConnect {
  const { protocol, hostname, port } = new URL(options.host);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  let context: SecureContext | undefined;
  const openSocket = (): Socket => {
    if (protocol === 'http:') return connectTcp({ host, port: Number(port || 80) });
    context ??= createContext(options);
    return openTls(host, Number(port || 443), context);
  };
  return () => {
    const socket = openSocket();
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const session = connectHttp2(options.host, {
      createConnection: () => socket,
      settings: { enablePush: false },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
      peerMaxConcurrentStreams: streams,
    });
    // Not already when TLS is up: Node.js aborts if the socket is destroyed before its session began.
    session.once('connect', () => {
      const isNotHttp2 = socket instanceof TLSSocket && socket.alpnProtocol !== 'h2';
      if (isNotHttp2) session.destroy(new Error('it does not speak HTTP/2'));
    });
    return { session, socket };
  };
}

function createContext({ ca, credentials }: ApnsConnectOptions): SecureContext {
  const key = readKey(credentials.privateKey);
  return createSecureContext({ ca, key, cert: credentials.certificate, minVersion: 'TLSv1.2' });
}

function readKey(key: string | KeyObject): string {
  if (!(key instanceof KeyObject)) return key;
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function openTls(host: string, port: number, secureContext: SecureContext): Socket {
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, secureContext, ALPNProtocols: ['h2'], ...name });
}
