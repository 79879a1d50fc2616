import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { isCertificateReason } from '../../protocol/apns.js';
import type { ApnsFailure } from './apns-unreachable.js';

/** Why a connection failed or ended, in words that follow the service's name. */
export interface ApnsFault {
  kind: ApnsFailure;
  words: string;
  cause?: unknown;
}

/** What the service said when it ended a connection. */
export interface GoAway {
  code: number;
  lastStreamId: number;
  reason: string | null;
}

/** RFC 8446, 6.2: the alerts about a certificate, as OpenSSL names them (with a prefix or another). */
const CERTIFICATE_ALERT =
  /ALERT_((BAD|UNSUPPORTED|NO)_CERTIFICATE|CERTIFICATE_(REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA|ACCESS_DENIED)$/;
const HANDSHAKE_FAILURE = /ALERT_HANDSHAKE_FAILURE$/;

/** Of a connection tried at several addresses the first failure tells enough. */
function codeOf(error: unknown): string | undefined {
  const { code, errors } = Object(error) as { code?: unknown; errors?: unknown[] };
  if (typeof code === 'string') return code;
  return errors === undefined ? undefined : codeOf(errors[0]);
}

function isUntrusted(socket: Socket): boolean {
  return socket instanceof TLSSocket && Boolean(socket.authorizationError);
}

/** What is wrong with the service's certificate, and which setting could be. */
function distrust(code: string): string {
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? `for another name (${code}); APNS_HOST must be the name in it`
    : `that is not trusted here (${code}); APNS_CA_FILE names the CA`;
}

/** `error` undefined: it was closed in peace. */
export interface BrokenConnection {
  error: unknown;
  socket: Socket;
  /** Our side of the handshake was done: in TLS 1.3 the service judges our certificate after that. */
  wasSecure: boolean;
}

/** What a failed connection, or one that broke, means. */
export function connectionFault({ error, socket, wasSecure }: BrokenConnection): ApnsFault {
  const code = codeOf(error) ?? '';
  if (isUntrusted(socket)) {
    return { kind: 'unreachable', words: `shows a certificate ${distrust(code)}`, cause: error };
  }
  if (CERTIFICATE_ALERT.test(code) || (HANDSHAKE_FAILURE.test(code) && wasSecure)) {
    const words = `refuses the push certificate in the TLS handshake (${code})`;
    return { kind: 'certificate_refused', words, cause: error };
  }
  if (error === undefined) return { kind: 'unreachable', words: 'closed the connection' };
  return {
    kind: 'unreachable',
    words: `cannot be reached (${code || String(error)})`,
    cause: error,
  };
}

/** What it means that the service ended the connection by a GOAWAY. */
export function goAwayFault({ code, reason }: GoAway): ApnsFault {
  const why = reason ?? `error code ${code}`;
  if (isCertificateReason(reason)) {
    return { kind: 'certificate_refused', words: `refuses the push certificate (${why})` };
  }
  return { kind: 'unreachable', words: `ended the connection (${why})` };
}
