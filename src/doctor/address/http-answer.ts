import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { ANY_TLS } from './tls-handshake.js';

export interface HttpAnswer {
  status: number;
  /** The Date header. */
  date: Date | undefined;
  /** When it was received, by this machine's clock. */
  receivedAt: Date;
  location: string | undefined;
  body: Buffer;
}

const MAX_BYTES = 64 * 1024;

/** Sends a GET without following redirects or judging the certificate. Rejects without an answer in time. */
export function getAnswer(url: URL, timeoutMs: number): Promise<HttpAnswer> {
  const isSecure = url.protocol === 'https:';
  const tls = isSecure ? { ...ANY_TLS, rejectUnauthorized: false } : {};
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = { 'User-Agent': 'muster', Connection: 'close' };
  return new Promise((resolve, reject) => {
    const outgoing = (isSecure ? requestHttps : requestHttp)(
      url,
      { ...tls, agent: false, signal, headers },
      (message) => readAnswer(message).then(resolve, reject),
    );
    outgoing.once('error', (error) => {
      reject(signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error);
    });
    outgoing.end();
  });
}

async function readAnswer(message: IncomingMessage): Promise<HttpAnswer> {
  const receivedAt = new Date();
  const { statusCode: status = 0, headers } = message;
  const date = new Date(headers.date ?? '');
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BYTES) break;
    parts.push(part);
  }
  return {
    status,
    date: Number.isNaN(date.getTime()) ? undefined : date,
    receivedAt,
    location: headers.location,
    body: Buffer.concat(parts),
  };
}
