import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

interface ExchangeFailureOptions {
  /** The service may have received and executed the request. */
  mayHaveArrived: boolean;
  /** A retry would fail the same way. */
  isLasting?: boolean;
  cause?: unknown;
}

/** An exchange without a complete answer. The message continues a sentence that begins with the host. */
export class ExchangeFailure extends Error {
  readonly mayHaveArrived: boolean;
  readonly isLasting: boolean;

  constructor(
    message: string,
    { mayHaveArrived, isLasting = false, cause }: ExchangeFailureOptions,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ExchangeFailure';
    this.mayHaveArrived = mayHaveArrived;
    this.isLasting = isLasting;
  }
}

const MESSAGES: Record<string, string> = {
  ENOTFOUND: 'has a name that does not resolve',
  EAI_AGAIN: 'has a name that does not resolve now',
  ECONNREFUSED: 'refuses the connection',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  ETIMEDOUT: 'does not answer in time',
  EHOSTUNREACH: 'cannot be reached: there is no route',
  ENETUNREACH: 'cannot be reached: there is no route',
};

/** The failure of a connection that could not be opened, or broke. */
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
  const message = MESSAGES[code] ?? 'cannot be reached';
  const detail = code || (error instanceof Error ? error.message : String(error));
  return new ExchangeFailure(`${message} (${detail})`, { mayHaveArrived, cause: error });
}

/** If several addresses were tried, the first failure is reported. */
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
