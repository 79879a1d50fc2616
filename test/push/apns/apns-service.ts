import { once } from 'node:events';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import type { ApnsCredentials } from '../../../src/push/apns/apns-connect.js';
import { asAuthority, ecIdentity, type Identity } from '../../crypto/identities.js';

export const TOPIC = 'com.apple.mgmt.External.11111111-2222-4333-8444-555555555555';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  /** The connection it was received on, counted from 0. */
  session: number;
  stream: ServerHttp2Stream;
}

export type Reply = (received: Received) => void;

export interface ServiceOptions extends SecureServerOptions {
  authority: Identity;
  port?: number;
  reply?: Reply;
  plain?: boolean;
}

export const delivered: Reply = ({ stream, headers }) => {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'apns-id': headers['apns-id'] }, { endStream: true });
};

export function answerWith(status: number, body: string, more: IncomingHttpHeaders = {}): Reply {
  return ({ stream }) => {
    stream.respond({ ':status': status, ...more });
    stream.end(body);
  };
}

export function pemOf(identity: Identity): { cert: string; key: string } {
  const key = identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { cert: encodePem('CERTIFICATE', identity.certificate.der), key };
}

export function createAuthority(): Promise<Identity> {
  return ecIdentity('P-256', asAuthority);
}

export async function createServerIdentity(issuedBy: Identity, name = 'localhost') {
  return ecIdentity('P-256', {
    issuedBy,
    subject: [{ type: 'CN', value: name }],
    subjectAltName: [{ type: 'dns', value: name }],
  });
}

export async function createCredentials(issuedBy: Identity): Promise<ApnsCredentials> {
  const identity = await ecIdentity('P-256', {
    issuedBy,
    subject: [
      { type: 'UID', value: TOPIC },
      { type: 'CN', value: 'APSP:push' },
    ],
  });
  const { cert, key } = pemOf(identity);
  const fingerprint = identity.certificate.fingerprint.toString('hex');
  return { topic: TOPIC, certificate: cert, privateKey: key, fingerprint };
}

/** A push service over a real socket that answers with what `reply` returns. */
export class ApnsService {
  readonly received: Received[] = [];
  readonly sessions: ServerHttp2Session[] = [];
  /** Most requests that were open at once on one connection. */
  mostAtOnce = 0;
  reply: Reply = delivered;
  readonly #sockets = new Set<Socket>();

  constructor(
    readonly server: Http2Server,
    readonly host: string,
  ) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session: ServerHttp2Session) => this.#onSession(session));
    server.on('sessionError', () => undefined);
  }

  get port(): number {
    return Number(new URL(this.host).port);
  }

  /** Pushes in the order of arrival, by token. */
  get tokens(): string[] {
    return this.received.map(({ headers }) => headers[':path']?.slice('/3/device/'.length) ?? '');
  }

  /** Breaks the connections, or the oldest of them, without a GOAWAY. */
  cut(count = this.#sockets.size): void {
    for (const socket of [...this.#sockets].slice(0, count)) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.cut();
    await closed;
  }

  #onSession(session: ServerHttp2Session): void {
    const index = this.sessions.push(session) - 1;
    let open = 0;
    session.on('error', () => undefined);
    session.on('stream', (stream, headers) => {
      open += 1;
      this.mostAtOnce = Math.max(this.mostAtOnce, open);
      stream.on('error', () => undefined);
      stream.on('close', () => {
        open -= 1;
      });
      let body = '';
      stream.on('data', (chunk: Buffer) => {
        body += chunk.toString('latin1');
      });
      stream.on('end', () => {
        const received = { headers, body, session: index, stream };
        this.received.push(received);
        this.reply(received);
      });
    });
  }
}

export async function startService(options: ServiceOptions): Promise<ApnsService> {
  const { authority, port = 0, reply = delivered, plain = false, ...rest } = options;
  const identity = await createServerIdentity(authority);
  const { cert } = pemOf(authority);
  const tls = { requestCert: true, rejectUnauthorized: false, ca: cert, ...pemOf(identity) };
  const server = plain ? createServer(rest) : createSecureServer({ ...tls, ...rest });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  const host = plain ? `http://127.0.0.1:${taken}` : `https://localhost:${taken}`;
  const service = new ApnsService(server as Http2Server, host);
  service.reply = reply;
  return service;
}
