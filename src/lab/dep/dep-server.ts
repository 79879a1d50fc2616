import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  certificatePem,
  issueServerCertificate,
  type LabAuthority,
  privateKeyPem,
} from '../pki/lab-authority.js';
import { ControlFault, readBytes } from '../wire/control-http.js';
import type { DepAnswer, DepRequest, DepService } from './dep-service.js';

/** Sees each request before it is answered, and may delay it: for tests. */
export type Interceptor = (request: DepRequest) => Promise<void> | void;

export interface DepServerOptions {
  authority: LabAuthority;
  service: DepService;
  counts: RequestCounts;
}

/** A profile may carry certificates. */
const MAX_BODY = 4 * 1024 * 1024;

/** The HTTPS server of Apple's protocol. */
export class DepServer {
  readonly #sockets = new Set<Duplex>();
  readonly server: Server;
  interceptor: Interceptor | undefined;

  private constructor(
    private readonly options: DepServerOptions,
    tls: { key: string; cert: string },
  ) {
    this.server = createServer({ ...tls, minVersion: 'TLSv1.2' }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.server.on('tlsClientError', () => undefined);
  }

  static async create(options: DepServerOptions): Promise<DepServer> {
    const leaf = await issueServerCertificate(options.authority);
    return new DepServer(options, { key: privateKeyPem(leaf), cert: certificatePem(leaf) });
  }

  destroyConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await this.#read(incoming, response);
    if (request === undefined) return;
    await this.interceptor?.(request);
    const answer = this.options.service.answer(request);
    if (answer.delayMs !== undefined) await sleep(answer.delayMs, undefined, { ref: false });
    const { drop = false, status } = answer;
    this.options.counts.note(request.method, request.url.pathname, drop ? 0 : status);
    if (drop) incoming.socket.destroy();
    else send(response, answer);
  }

  async #read(
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<DepRequest | undefined> {
    try {
      return await readRequest(incoming);
    } catch (error) {
      if (!(error instanceof ControlFault)) throw error;
      response.shouldKeepAlive = false;
      send(response, { status: error.status, body: 'REQUEST_TOO_LARGE' });
      return undefined;
    }
  }
}

/** Number of answers by path and status. */
export type RequestReport = Record<string, Record<string, number>>;

export class RequestCounts {
  #counts: RequestReport = {};

  /** `status` 0: the connection was cut. */
  note(method: string, path: string, status: number): void {
    const key = `${method} ${path}`;
    const ofPath = this.#counts[key] ?? {};
    ofPath[status] = (ofPath[status] ?? 0) + 1;
    this.#counts[key] = ofPath;
  }

  report(): RequestReport {
    return structuredClone(this.#counts);
  }

  reset(): void {
    this.#counts = {};
  }
}

function send(response: ServerResponse, { status, body, headers }: DepAnswer): void {
  const isText = typeof body === 'string';
  const bytes = Buffer.from(isText ? body : JSON.stringify(body));
  const type = isText ? 'text/plain;charset=UTF-8' : 'application/json;charset=UTF-8';
  response.writeHead(status, {
    ...headers,
    'Content-Type': type,
    'Content-Length': bytes.length,
  });
  response.end(bytes);
}

async function readRequest(request: IncomingMessage): Promise<DepRequest> {
  const { method = 'GET', headers, url = '/' } = request;
  const body = await readBytes(request, MAX_BODY);
  // The client chooses path and query only.
  const [path = '/', query = ''] = url.split('?', 2);
  const address = new URL(`https://${headers.host ?? 'localhost'}`);
  address.pathname = path;
  address.search = query;
  return { method, headers, body, url: address };
}
