import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';

/** An answer other than 200, with the status and reason of Apple's push service. */
export interface Refusal {
  status: number;
  reason: string;
  /** With 410: since when the token is invalid, milliseconds since 1970. */
  timestamp?: number | undefined;
}

export interface ServerAnswer {
  /** undefined: 200. */
  refusal: Refusal | undefined;
  /** Seconds. */
  retryAfter?: number | undefined;
  delayMs?: number | undefined;
}

/** The usual reason for each status of Apple's table ("Handling notification responses from APNs"). */
export const USUAL_REASONS: Readonly<Record<number, string>> = {
  400: 'BadDeviceToken',
  403: 'BadCertificate',
  404: 'BadPath',
  405: 'MethodNotAllowed',
  410: 'Unregistered',
  413: 'PayloadTooLarge',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

export function refusal(status: number, reason: string): Refusal {
  return { status, reason };
}

/** Answers the pusher, after `delayMs` if set; not at all if the stream has closed by then. */
export function sendAnswer(stream: ServerHttp2Stream, apnsId: string, answer: ServerAnswer): void {
  const { delayMs } = answer;
  if (delayMs === undefined) {
    sendNow(stream, apnsId, answer);
    return;
  }
  const timer = setTimeout(() => sendNow(stream, apnsId, answer), delayMs);
  stream.once('close', () => clearTimeout(timer));
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
