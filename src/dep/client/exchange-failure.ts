import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

interface ExchangeFailureOptions {
  /** The service may have got the request, and done what it says. */
  mayHaveArrived: boolean;
  /** Another attempt would end the same way. */
  isLasting?: boolean;
  cause?: unknown;
}

/** No whole answer came. The message follows the name of the service. */
export class ExchangeFailure extends Error {
  readonly mayHaveArrived: boolean;
  readonly isLasting: boolean;

  constructor(words: string, { mayHaveArrived, isLasting = false, cause }: ExchangeFailureOptions) {
    super(words, cause === undefined ? undefined : { cause });
    this.name = 'ExchangeFault';
    this.mayHaveArrived = mayHaveArrived;
    this.isLasting = isLasting;
  }
}

/** Of a connection tried at several addresses the first failure tells enough. */
function codeOf(error: unknown): string {
  const { code, errors } = Object(error) as { code?: unknown; errors?: unknown[] };
  if (typeof code === 'string') return code;
  return errors === undefined ? '' : codeOf(errors[0]);
}

function isUntrusted(socket: Socket | undefined): boolean {
  return socket instanceof TLSSocket && Boolean(socket.authorizationError);
}

function untrustedCertificate(code: string): string {
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? `shows a certificate for another name (${code}); DEP_HOST must be the name in it`
    : `shows a certificate that is not trusted here (${code}); DEP_CA_FILE names the CA`;
}

const MESSAGES: Record<string, string> = {
  ENOTFOUND: 'has a name that is not resolved',
  EAI_AGAIN: 'has a name that is not resolved now',
  ECONNREFUSED: 'refuses the connection',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  ETIMEDOUT: 'does not answer in time',
  EHOSTUNREACH: 'cannot be reached: there is no route',
  ENETUNREACH: 'cannot be reached: there is no route',
};

/** What it means that a connection could not be made, or broke. */
export function connectionFailure(
  error: unknown,
  socket: Socket | undefined,
  mayHaveArrived: boolean,
): ExchangeFailure {
  const code = codeOf(error);
  if (isUntrusted(socket)) {
    const options = { mayHaveArrived: false, isLasting: true, cause: error };
    return new ExchangeFailure(untrustedCertificate(code), options);
  }
  const words = MESSAGES[code] ?? 'cannot be reached';
  const detail = code || (error instanceof Error ? error.message : String(error));
  return new ExchangeFailure(`${words} (${detail})`, { mayHaveArrived, cause: error });
}
