import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rootCertificates } from 'node:tls';
import { omitAbsent } from '../../protocol/omit-absent.js';
import type { HttpReply } from './http-reply.js';
import { LabError } from './lab-error.js';

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  headers?: Record<string, string>;
  body?: Buffer;
}

export interface HttpClientOptions {
  /** How long to retry while the server is away or answers 5xx, 429 or 408; Infinity never gives up. */
  retryMs: number;
  signal: AbortSignal;
  /** Called for each retry. */
  onRetry?: () => void;
}

/** A server that has never answered is more likely misspelt than restarting. */
const FIRST_ANSWER_MS = 15_000;
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 2_000;
const TLS_PROBE_MS = 2_000;
const SOCKET_TIMEOUT_MS = 60_000;
const MAX_BODY = 32 * 1024 * 1024;
const AWAY = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED']);

/** Why an attempt failed that is worth a retry. */
type Failure = { failure: string };

/** HTTP like a device: connections are kept open, and requests retried until the server is back. */
export class HttpClient {
  private readonly httpAgent = new HttpAgent({ keepAlive: true, timeout: SOCKET_TIMEOUT_MS });
  private httpsAgent = new HttpsAgent({ keepAlive: true, timeout: SOCKET_TIMEOUT_MS });
  private readonly trusted = new Set<string>();
  private readonly createdAt = Date.now();
  private hasAnswered = false;

  constructor(private readonly options: HttpClientOptions) {}

  /** From now on trusts TLS servers whose chain ends in one of these (PEM), too. */
  trust(certificates: string[]): void {
    if (certificates.every((certificate) => this.trusted.has(certificate))) return;
    for (const certificate of certificates) this.trusted.add(certificate);
    const ca = [...rootCertificates, ...this.trusted];
    this.httpsAgent = new HttpsAgent({ keepAlive: true, timeout: SOCKET_TIMEOUT_MS, ca });
  }

  /** The answer, unless its status asks for a retry; LabError when the server stays away. */
  async send(request: HttpRequest): Promise<HttpReply> {
    const startedAt = Date.now();
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.attempt(request);
      if (!('failure' in outcome)) return outcome;
      if (Date.now() >= this.giveUpAt(startedAt)) throw this.gaveUp(request, outcome);
      this.options.onRetry?.();
      await sleep(delayBefore(attempt), undefined, { signal: this.options.signal });
    }
  }

  close(): void {
    this.httpAgent.destroy();
    this.httpsAgent.destroy();
  }

  private giveUpAt(startedAt: number): number {
    const end = startedAt + this.options.retryMs;
    return this.hasAnswered ? end : Math.min(end, this.createdAt + FIRST_ANSWER_MS);
  }

  private gaveUp(request: HttpRequest, { failure }: Failure): LabError {
    const { origin, pathname } = new URL(request.url);
    return new LabError(
      `${origin}${pathname} does not answer: ${failure}; is the server running? (--url names another)`,
    );
  }

  private async attempt(request: HttpRequest): Promise<HttpReply | Failure> {
    try {
      const reply = await this.exchange(request);
      this.hasAnswered = true;
      return isBusy(reply) ? { failure: `status ${reply.status}` } : reply;
    } catch (error) {
      if (!this.hasAnswered && (await isTlsInstead(error, request))) {
        const { origin } = new URL(request.url);
        throw new LabError(`${origin} speaks https: use https:// in its URL`, { cause: error });
      }
      if (isUntrusted(error)) {
        throw new LabError(`${error.message}: trust its CA with --ca FILE`, { cause: error });
      }
      // The AggregateError of a name with several addresses has no message.
      if (isAway(error) && !this.options.signal.aborted) {
        return { failure: error.message || `${error.code}` };
      }
      throw error;
    }
  }

  private exchange({ method, url, headers, body }: HttpRequest): Promise<HttpReply> {
    const isTls = url.startsWith('https:');
    const options = {
      method,
      agent: isTls ? this.httpsAgent : this.httpAgent,
      signal: this.options.signal,
      headers: omitAbsent({ ...headers, 'Content-Length': body?.length }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = (isTls ? httpsRequest : httpRequest)(url, options, (message) => {
        readReply(message).then(resolve, reject);
      });
      outgoing.on('timeout', () => outgoing.destroy());
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

function isAway(error: unknown): error is NodeJS.ErrnoException {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code !== undefined && AWAY.has(code);
}

/** 408: this process had too much to do to send the request in time. */
function isBusy({ status }: HttpReply): boolean {
  return status >= 500 || status === 429 || status === 408;
}

async function readReply(message: IncomingMessage): Promise<HttpReply> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new LabError('the answer is too large');
    chunks.push(chunk);
  }
  const { statusCode = 0, headers } = message;
  return { status: statusCode, headers, body: Buffer.concat(chunks) };
}

/** OpenSSL's codes for a chain that does not end in a trusted CA. */
function isUntrusted(error: unknown): error is Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code);
}

/** A TLS server closes a plain http connection, or answers with an alert, which is no HTTP. */
async function isTlsInstead(error: unknown, { url }: HttpRequest): Promise<boolean> {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!url.startsWith('http:') || !/^(ECONNRESET|EPIPE|HPE_)/.test(code)) return false;
  return await answersTls(url);
}

/** Exponential with jitter, so that a whole fleet does not retry at the same moment. */
function delayBefore(attempt: number): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS);
  return longest * (0.5 + Math.random() / 2);
}

/** Whether a TLS server answers at this http URL, with any certificate. */
function answersTls(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    // Only a probe: nothing is sent.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
    const conclude = (isTls: boolean) => {
      socket.destroy();
      resolve(isTls);
    };
    socket.setTimeout(TLS_PROBE_MS, () => conclude(false));
    socket.once('secureConnect', () => conclude(true));
    socket.once('error', () => conclude(false));
    socket.once('close', () => conclude(false));
  });
}
