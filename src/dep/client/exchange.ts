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
import { connectionFailure, ExchangeFailure } from './exchange-failure.js';

export interface ServiceRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** https, or http to this machine. */
  url: URL;
  headers: Record<string, string>;
  body?: string;
}

export interface ServiceAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** One request and its answer, whatever the answer says. */
export interface Exchanges {
  /** Rejects with an ExchangeFault, or with the signal's reason. */
  send(request: ServiceRequest, signal: AbortSignal): Promise<ServiceAnswer>;
  close(): void;
}

/** Ends a call that takes too long, and knows how far it has come. */
class CallWatch {
  mayHaveArrived = false;
  #socket: Socket | undefined;
  #fault: ExchangeFailure | undefined;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(
    private readonly call: ClientRequest,
    limits: DepLimits,
  ) {
    // What breaks after the answer has begun is told by the answer too; unheard here it would throw.
    call.on('error', () => undefined);
    call.once('socket', (socket) => this.#onSocket(socket, limits));
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** The reason, whatever error the destroyed connection comes with. */
  end(words: string, isLasting = false): void {
    this.#fault ??= new ExchangeFailure(words, { mayHaveArrived: this.mayHaveArrived, isLasting });
    this.call.destroy();
  }

  failureOf(error: unknown): ExchangeFailure {
    return this.#fault ?? connectionFailure(error, this.#socket, this.mayHaveArrived);
  }

  #onSocket(socket: Socket, { connect, answer }: DepLimits): void {
    this.#socket = socket;
    this.#endAfter(answer, 'does not answer in time');
    if (this.call.reusedSocket) {
      this.mayHaveArrived = true;
      return;
    }
    const timer = this.#endAfter(connect, 'does not take the connection in time');
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      this.mayHaveArrived = true;
    });
  }

  #endAfter(milliseconds: number, words: string): NodeJS.Timeout {
    const timer = setTimeout(() => this.end(`${words} (${milliseconds} ms)`), milliseconds);
    this.#timers.push(timer);
    return timer;
  }
}

async function readBody(
  answer: IncomingMessage,
  watch: CallWatch,
  most: number,
): Promise<ServiceAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) {
      watch.end(`gives an answer of more than ${most} bytes`, true);
      throw new Error('too long');
    }
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString('utf8');
  return { status: answer.statusCode ?? 0, headers: answer.headers, body };
}

/** Keeps connections between calls. `ca`: PEM of the CAs to believe; those Node knows by default. */
export function createExchanges(limits: DepLimits, ca: string | undefined): Exchanges {
  const { sockets: maxSockets, idle: timeout } = limits;
  // The agent ends connections at the time-out only while they are unused.
  const options = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout };
  const plain = new HttpAgent(options);
  const secure = new HttpsAgent({ ...options, minVersion: 'TLSv1.2', ...(ca && { ca }) });

  const open = ({ method, url, headers, body }: ServiceRequest, signal: AbortSignal) => {
    const length = { 'Content-Length': String(Buffer.byteLength(body ?? '')) };
    const settings = { method, signal, headers: { ...headers, ...(body !== undefined && length) } };
    return url.protocol === 'https:'
      ? requestHttps(url, { ...settings, agent: secure })
      : requestHttp(url, { ...settings, agent: plain });
  };

  return {
    async send(request, signal) {
      signal.throwIfAborted();
      const call = open(request, signal);
      const watch = new CallWatch(call, limits);
      try {
        call.end(request.body);
        const [answer] = (await once(call, 'response')) as [IncomingMessage];
        return await readBody(answer, watch, limits.answerBytes);
      } catch (error) {
        signal.throwIfAborted();
        throw watch.failureOf(error);
      } finally {
        watch.stop();
      }
    },
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

/** In milliseconds where nothing else is said. */
export interface DepLimits {
  connect: number;
  /** From the request to the last byte of the answer. */
  answer: number;
  /** Bytes of an answer: a page of 1000 devices has half a megabyte. */
  answerBytes: number;
  /** How long one call waits in all for a service that is busy. */
  maxWait: number;
  /** Connections to one service. */
  sockets: number;
  /** For how long one is kept unused: firewalls forget it silently. */
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
