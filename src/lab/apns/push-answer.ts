import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Refusal } from './refusal.js';

export interface ServerAnswer {
  /** undefined: 200. */
  refusal: Refusal | undefined;
  /** Seconds. */
  retryAfter?: number | undefined;
  delayMs?: number | undefined;
}

function sendNow(stream: ServerHttp2Stream, apnsId: string, answer: ServerAnswer): void {
  if (stream.destroyed || stream.headersSent) return;
  const { refusal, retryAfter } = answer;
  if (refusal === undefined) {
    stream.respond({ ':status': 200, 'apns-id': apnsId }, { endStream: true });
    return;
  }
  const { status, ...body } = refusal;
  const headers: OutgoingHttpHeaders = { ':status': status, 'apns-id': apnsId };
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  stream.respond(headers);
  stream.end(JSON.stringify(body));
}

/** Tells the pusher; later when the answer wants it, and not at all when it has gone by then. */
export function sendAnswer(stream: ServerHttp2Stream, apnsId: string, answer: ServerAnswer): void {
  const { delayMs } = answer;
  if (delayMs === undefined) {
    sendNow(stream, apnsId, answer);
    return;
  }
  const timer = setTimeout(() => sendNow(stream, apnsId, answer), delayMs);
  stream.once('close', () => clearTimeout(timer));
}
