import { type IncomingHttpHeaders, type OutgoingHttpHeaders, sensitiveHeaders } from 'node:http2';

/** One MDM push: it wakes a device, which then contacts the server, and carries nothing else. */
export interface ApnsPush {
  /** Device token, hexadecimal. */
  token: string;
  pushMagic: string;
  /** `com.apple.mgmt.…`, of the push certificate. */
  topic: string;
  /** UUID; Apple makes one up without it. */
  apnsId?: string;
  /** Until when the service keeps it for a device that is away: seconds since 1970. */
  expiration?: number;
}

/** The answer of Apple's push service. */
export interface ApnsAnswer {
  status: number;
  apnsId: string | null;
  /** Apple's error string, like BadDeviceToken; null with status 200. */
  reason: string | null;
  /** With 410: since when the token is no longer valid, milliseconds since 1970. */
  timestamp: number | null;
  /** Seconds. */
  retryAfter: number | null;
}

/**
 * The outcome of a push. delivered: Apple accepted it. unregistered: the token is no longer valid.
 * bad_token: it never was. certificate: Apple refuses the push certificate. retry: a later push may
 * succeed. rejected: the request itself was wrong.
 */
export type Verdict =
  | 'delivered'
  | 'unregistered'
  | 'bad_token'
  | 'certificate'
  | 'retry'
  | 'rejected';

/** Apple's answers have some 40 octets; a longer body is ignored. */
export const MAX_ANSWER_BODY = 4096;

const NEVER_INDEXED = [':path', 'apns-id'];
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const REASON = /^\w{1,64}$/;
const MAX_RETRY_AFTER = 86_400;

const CERTIFICATE_REASONS = new Set([
  'BadCertificate',
  'BadCertificateEnvironment',
  'BadTopic',
  'MissingTopic',
  'TopicDisallowed',
]);
const TOKEN_REASONS = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic', 'MissingDeviceToken']);

/**
 * The request's header fields. As Apple asks, what differs from push to push stays out of the HPACK
 * table, which has room for the rest only.
 */
export function pushHeaders(push: ApnsPush): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ':method': 'POST',
    ':path': `/3/device/${push.token}`,
    'apns-topic': push.topic,
    'apns-push-type': 'mdm',
    'apns-priority': '10',
  };
  if (push.expiration !== undefined) headers['apns-expiration'] = String(push.expiration);
  if (push.apnsId !== undefined) headers['apns-id'] = push.apnsId;
  (headers as Record<symbol, string[]>)[sensitiveHeaders] = NEVER_INDEXED;
  return headers;
}

/** The request's body, JSON: `{"mdm":"<PushMagic>"}`. */
export function pushPayload(pushMagic: string): string {
  return `{"mdm":${JSON.stringify(pushMagic)}}`;
}

type Refusal = Pick<ApnsAnswer, 'reason' | 'timestamp'>;

/** Apple's JSON `{"reason", "timestamp"}`, of an answer or a GOAWAY; nulls for anything else. */
export function readRefusal(body: Buffer | undefined): Refusal {
  const nothing = { reason: null, timestamp: null };
  if (body === undefined || body.length === 0 || body.length > MAX_ANSWER_BODY) return nothing;
  try {
    const { reason, timestamp } = Object(JSON.parse(body.toString('utf8'))) as Record<
      string,
      unknown
    >;
    return {
      reason: typeof reason === 'string' && REASON.test(reason) ? reason : null,
      timestamp: Number.isSafeInteger(timestamp) ? Math.max(0, Number(timestamp)) : null,
    };
  } catch {
    return nothing;
  }
}

/** The answer to one push; what is not as Apple writes it becomes null. Never throws. */
export function readAnswer(
  status: number,
  headers: IncomingHttpHeaders,
  body?: Buffer,
): ApnsAnswer {
  const apnsId = headers['apns-id'];
  const { reason, timestamp } = readRefusal(status === 200 ? undefined : body);
  return {
    status,
    apnsId: typeof apnsId === 'string' && UUID.test(apnsId) ? apnsId : null,
    reason,
    timestamp,
    retryAfter: readRetryAfter(headers['retry-after']),
  };
}

/** Whether a reason, with any status or in a GOAWAY, concerns the push certificate. */
export function isCertificateReason(reason: string | null): boolean {
  return reason !== null && CERTIFICATE_REASONS.has(reason);
}

/**
 * After the table of "Handling notification responses from APNs". A 410 always concerns the token
 * and a 403 the certificate: Apple uses these statuses for nothing else.
 */
export function judge({ status, reason }: Pick<ApnsAnswer, 'status' | 'reason'>): Verdict {
  if (status === 200) return 'delivered';
  if (status === 400) return judgeBadRequest(reason);
  if (status === 403) return 'certificate';
  if (status === 410) return 'unregistered';
  return status === 408 || status === 429 || status >= 500 ? 'retry' : 'rejected';
}

/** RFC 9110, 10.2.3: seconds or a date. Capped at one day. */
function readRetryAfter(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,9}$|^.{1,40} GMT$/.test(text)) return null;
  const date = text.endsWith('GMT') ? Date.parse(text) : undefined;
  const seconds = date === undefined ? Number(text) : Math.ceil((date - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER);
}

function judgeBadRequest(reason: string | null): Verdict {
  if (reason !== null && TOKEN_REASONS.has(reason)) return 'bad_token';
  if (isCertificateReason(reason)) return 'certificate';
  return reason === 'IdleTimeout' ? 'retry' : 'rejected';
}
