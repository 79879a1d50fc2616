import { once } from 'node:events';
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { omitAbsent } from '../../protocol/omit-absent.js';
import { connectionFailure, ExchangeFailure } from './exchange-failure.js';

export interface ServiceRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** https, or http to this machine. */
  url: URL;
  headers: Record<string, string>;
  body?: string | undefined;
}

export interface ServiceAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends requests over reused connections, and returns the answers whatever their status. */
export class Exchanges {
  readonly #limits: DepLimits;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  /** `ca`: PEM of the CAs to trust; undefined: Node's default CAs. */
  constructor(limits: DepLimits, ca: string | undefined) {
    const { sockets: maxSockets, idle: timeout } = limits;
    // The agent applies the timeout to idle connections only.
    const options = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout };
    this.#limits = limits;
    this.#http = new HttpAgent(options);
    this.#https = new HttpsAgent({ ...options, minVersion: 'TLSv1.2', ca });
  }

  /** Rejects with an ExchangeFailure, or with the signal's reason. */
  async send(request: ServiceRequest, signal: AbortSignal): Promise<ServiceAnswer> {
    signal.throwIfAborted();
    const call = this.#open(request, signal);
    const watch = new CallWatch(call, this.#limits);
    try {
      call.end(request.body);
      const [answer] = (await once(call, 'response')) as [IncomingMessage];
      return await readBody(answer, watch, this.#limits.answerBytes);
    } catch (error) {
      signal.throwIfAborted();
      throw watch.failureOf(error);
    } finally {
      watch.stop();
    }
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #open({ method, url, headers, body }: ServiceRequest, signal: AbortSignal): ClientRequest {
    const length = body === undefined ? undefined : Buffer.byteLength(body);
    const sent = omitAbsent({ ...headers, 'Content-Length': length });
    const settings = { method, signal, headers: sent };
    return url.protocol === 'https:'
      ? requestHttps(url, { ...settings, agent: this.#https })
      : requestHttp(url, { ...settings, agent: this.#http });
  }
}

/** Milliseconds unless noted. */
export interface DepLimits {
  connect: number;
  /** From the request to the last byte of the answer. */
  answer: number;
  /** Bytes of an answer; a page of 1000 devices has half a megabyte. */
  answerBytes: number;
  /** Total wait of one call for a service that answers 429 or 503. */
  maxWait: number;
  /** Connections to one service. */
  sockets: number;
  /** How long an unused connection is kept: firewalls drop idle connections silently. */
  idle: number;
}

export const DEP_LIMITS: DepLimits = {
  connect: 10_000,
  answer: 60_000,
  answerBytes: 16 * 1024 * 1024,
  maxWait: 30_000,
  sockets: 4,
  idle: 15_000,
};

export interface DepClock {
  now(): number;
  /** Rejects once the signal is aborted. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const SYSTEM_CLOCK: DepClock = {
  now: () => Date.now(),
  wait: async (milliseconds, signal) => {
    await sleep(milliseconds, undefined, { signal });
  },
};

/** Aborts a call that takes too long, and records whether the service may have received it. */
class CallWatch {
  mayHaveArrived = false;
  #socket: Socket | undefined;
  #failure: ExchangeFailure | undefined;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly call: ClientRequest,
    limits: DepLimits,
  ) {
    // Errors after the answer has begun also reach the answer; without a listener they would throw here.
    call.on('error', () => undefined);
    call.once('socket', (socket) => this.#onSocket(socket, limits));
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** `message` becomes the failure, whatever error the destroyed connection reports. */
  end(message: string, isLasting = false): void {
    this.#failure ??= new ExchangeFailure(message, {
      mayHaveArrived: this.mayHaveArrived,
      isLasting,
    });
    this.call.destroy();
  }

  failureOf(error: unknown): ExchangeFailure {
    return this.#failure ?? connectionFailure(error, this.#socket, this.mayHaveArrived);
  }

  #onSocket(socket: Socket, { connect, answer }: DepLimits): void {
    this.#socket = socket;
    this.#endAfter(answer, 'does not answer in time');
    if (this.call.reusedSocket) {
      this.mayHaveArrived = true;
      return;
    }
    const timer = this.#endAfter(connect, 'does not accept the connection in time');
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      this.mayHaveArrived = true;
    });
  }

  #endAfter(milliseconds: number, message: string): NodeJS.Timeout {
    const timer = setTimeout(() => this.end(`${message} (${milliseconds} ms)`), milliseconds);
    this.#timers.push(timer);
    return timer;
  }
}

async function readBody(
  answer: IncomingMessage,
  watch: CallWatch,
  maxBytes: number,
): Promise<ServiceAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      watch.end(`sends an answer of more than ${maxBytes} bytes`, true);
      throw new Error('too long');
    }
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString('utf8');
  return { status: answer.statusCode ?? 0, headers: answer.headers, body };
}
