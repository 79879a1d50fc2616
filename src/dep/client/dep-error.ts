/** Kinds of failures, by what can be done about them. */
export type DepErrorKind =
  /** Somebody has to accept Apple's terms at its portal. */
  | 'terms_not_signed'
  /** Apple rejects the token. */
  | 'token_rejected'
  | 'token_expired'
  /** Too many calls; `retryAt` is when to retry. */
  | 'throttled'
  /** No answer, an answer that is not Apple's, or a 5xx. */
  | 'unreachable'
  /** The token is of the lab while the lab is off, or the reverse. */
  | 'lab_off'
  /** Begin again without a cursor. */
  | 'cursor_lost'
  /** The full fetch was already read to its end: continue with changes. */
  | 'cursor_exhausted'
  | 'profile_not_found'
  /** Apple rejects what was sent. */
  | 'refused';

export interface DepErrorOptions {
  /** HTTP status of Apple's answer. */
  status?: number;
  /** Apple's error text, shortened; it holds no secrets. */
  text?: string;
  retryAt?: Date | undefined;
  cause?: unknown;
}

/** A call of Apple's DEP service that failed. */
export class DepError extends Error {
  readonly status: number | undefined;
  readonly text: string;
  readonly retryAt: Date | undefined;

  constructor(
    readonly kind: DepErrorKind,
    message: string,
    { status, text = '', retryAt, cause }: DepErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DepError';
    this.status = status;
    this.text = text;
    this.retryAt = retryAt;
  }
}

/** The message, with Apple's error text if there is any. */
export function describeDepError({ message, text }: DepError): string {
  return text === '' ? message : `${message}: ${text}`;
}
