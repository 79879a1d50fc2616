import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import {
  certificatePem,
  issueServerCertificate,
  type LabAuthority,
  privateKeyPem,
} from '../pki/lab-authority.js';
import type { ProviderApi } from './provider-api.js';
import type { Pusher } from './push-checks.js';

/** How new connections are refused: by a TLS alert, by a reset, or not at all. */
export type ConnectionRefusal = 'tls' | 'connection' | null;

export interface PushServerOptions {
  authority: LabAuthority;
  api: ProviderApi;
  host: string;
  maxConcurrentStreams: number;
}

const SESSION_MEMORY_MB = 64;
const MAX_CONNECTIONS = 1_000;
/** A fatal alert, bad_certificate (RFC 8446 6), unencrypted. */
const BAD_CERTIFICATE_ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 42]);

/** OpenSSL verifies the chain to the lab's CA; without one pushes are answered 403. */
function pusherOf(session: ServerHttp2Session): Pusher {
  const socket = session.socket as TLSSocket;
  if (!socket.authorized) return { topic: undefined };
  return { topic: parseCertificate(socket.getPeerCertificate().raw).userId };
}

/** Serves HTTP/2 over TLS and nothing else. */
export class PushServer {
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #front: Server;
  refusal: ConnectionRefusal = null;

  private constructor(
    readonly options: PushServerOptions,
    tls: { key: string; cert: string; ca: string },
  ) {
    const secure = createSecureServer({
      ...tls,
      minVersion: 'TLSv1.2',
      requestCert: true,
      rejectUnauthorized: false,
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { maxConcurrentStreams: options.maxConcurrentStreams, enablePush: false },
    });
    secure.on('session', (session) => this.#onSession(session));
    secure.on('sessionError', () => undefined);
    secure.on('tlsClientError', () => undefined);
    // A plain server in front, so that a connection can be refused before TLS begins.
    this.#front = createServer((socket) => {
      if (this.#accept(socket)) secure.emit('connection', socket);
    });
    this.#front.maxConnections = MAX_CONNECTIONS;
  }

  static async create(options: PushServerOptions): Promise<PushServer> {
    const server = await issueServerCertificate(options.authority);
    return new PushServer(options, {
      key: privateKeyPem(server),
      cert: certificatePem(server),
      ca: certificatePem(options.authority),
    });
  }

  get server(): Server {
    return this.#front;
  }

  get connections(): number {
    return this.#sessions.size;
  }

  /** Sends GOAWAY with a reason to every client; requests under way are answered. */
  goAway(reason: string): void {
    const data = Buffer.from(JSON.stringify({ reason }));
    for (const session of this.#sessions) {
      if (session.closed || session.destroyed) continue;
      session.goaway(0, 0, data);
      session.close();
    }
  }

  destroyConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
    session.on('error', () => undefined);
    const pusher = pusherOf(session);
    session.on('stream', (stream, headers) => this.options.api.receive(stream, headers, pusher));
  }

  #accept(socket: Socket): boolean {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    if (this.refusal === 'connection') socket.resetAndDestroy();
    if (this.refusal === 'tls') socket.once('data', () => socket.end(BAD_CERTIFICATE_ALERT));
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return this.refusal === null;
  }
}
