import { constants } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { AppError } from '../../errors.js';
import { isCertificateReason } from '../../protocol/apns.js';

export type ApnsFailureKind = 'unreachable' | 'certificate_refused';

/** Why a connection failed or ended. */
export interface ApnsFailure {
  kind: ApnsFailureKind;
  /** Continues a sentence that begins with the service's address. */
  message: string;
  cause?: unknown;
}

/** A push without an answer: nothing is known of the device, which may have been notified. */
export class ApnsUnreachableError extends AppError {
  constructor(
    readonly kind: ApnsFailureKind,
    message: string,
    /** When another attempt may succeed; before it, pushes are refused at once. */
    readonly retryAt: Date,
    cause?: unknown,
  ) {
    const seconds = Math.max(1, Math.ceil((retryAt.getTime() - Date.now()) / 1000));
    const headers = { 'Retry-After': String(seconds) };
    super('push_service_unreachable', 503, message, { headers, cause });
    this.name = 'ApnsUnreachableError';
  }
}

export interface BrokenConnection {
  /** Undefined: it was closed without an error. */
  error: unknown;
  socket: Socket;
  /** Our side of the handshake was done: in TLS 1.3 the service checks our certificate after that. */
  wasSecure: boolean;
}

/** RFC 8446, 6.2: the alerts about a certificate, by OpenSSL's names (whose prefixes vary). */
const CERTIFICATE_ALERT =
  /ALERT_((BAD|UNSUPPORTED|NO)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA|ACCESS_DENIED)$/;
const HANDSHAKE_FAILURE = /ALERT_HANDSHAKE_FAILURE$/;

/** Why a connection could not be opened, or broke. */
export function connectionFailure({ error, socket, wasSecure }: BrokenConnection): ApnsFailure {
  const code = codeOf(error) ?? '';
  if (isUntrusted(socket)) {
    const message = `shows a certificate ${describeDistrust(code)}`;
    return { kind: 'unreachable', message, cause: error };
  }
  if (CERTIFICATE_ALERT.test(code) || (HANDSHAKE_FAILURE.test(code) && wasSecure)) {
    const message = `refuses the push certificate in the TLS handshake (${code})`;
    return { kind: 'certificate_refused', message, cause: error };
  }
  if (error === undefined) return { kind: 'unreachable', message: 'closed the connection' };
  const message = `cannot be reached (${code || String(error)})`;
  return { kind: 'unreachable', message, cause: error };
}

/** What the service sent when it ended a connection. */
export interface GoAway {
  code: number;
  lastStreamId: number;
  reason: string | null;
}

/** Why the service ended the connection with a GOAWAY. */
export function goAwayFailure({ code, reason }: GoAway): ApnsFailure {
  const why = reason ?? `error code ${code}`;
  if (isCertificateReason(reason)) {
    return { kind: 'certificate_refused', message: `refuses the push certificate (${why})` };
  }
  return { kind: 'unreachable', message: `ended the connection (${why})` };
}

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_REFUSED_STREAM } = constants;

const MAX_WEIGHT = 10;
const DEFAULT_WEIGHT = 5;
/**
 * RFC 9113, 7. ENHANCE_YOUR_CALM concerns the whole connection, and some servers accept nothing more
 * on it afterwards. The other two may concern one request only.
 */
const WEIGHTS: Readonly<Record<number, number>> = {
  [NGHTTP2_ENHANCE_YOUR_CALM]: MAX_WEIGHT,
  [NGHTTP2_REFUSED_STREAM]: 1,
  [NGHTTP2_CANCEL]: 1,
};

/** Requests of one connection that the service has reset since its last answer. */
export class ApnsResets {
  #weight = 0;

  /** Counts one more. Returns whether the connection is unusable now. */
  add(code: number): boolean {
    this.#weight += WEIGHTS[code] ?? DEFAULT_WEIGHT;
    return this.#weight >= MAX_WEIGHT;
  }

  /** The service has answered. */
  clear(): void {
    this.#weight = 0;
  }
}

/** The error's code; of the first failure if several addresses were tried. */
function codeOf(error: unknown): string | undefined {
  const { code, errors } = Object(error) as { code?: unknown; errors?: unknown[] };
  if (typeof code === 'string') return code;
  return errors === undefined ? undefined : codeOf(errors[0]);
}

function isUntrusted(socket: Socket): boolean {
  return socket instanceof TLSSocket && Boolean(socket.authorizationError);
}

function describeDistrust(code: string): string {
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? `for another name (${code}); APNS_HOST must be the name in it`
    : `that is not trusted here (${code}); APNS_CA_FILE names the CA`;
}
