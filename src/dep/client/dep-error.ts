/** What is wrong, by what can be done about it. */
export type DepErrorKind =
  /** Somebody has to accept Apple's terms at its portal. */
  | 'terms_not_signed'
  /** Apple does not take the token, or no longer. */
  | 'token_rejected'
  | 'token_expired'
  /** Too many calls; `retryAt` says when to come again. */
  | 'throttled'
  /** No answer, or none of Apple's; a server of Apple's in trouble. */
  | 'unreachable'
  /** The token is one of the lab's, and the lab is off. */
  | 'lab_off'
  /** Begin again without a cursor. */
  | 'cursor_lost'
  /** A full fetch was already read to its end: go on with changes. */
  | 'cursor_exhausted'
  | 'profile_not_found'
  /** Apple finds fault with what was sent. */
  | 'refused';

export interface DepErrorOptions {
  /** Of Apple's answer. */
  status?: number;
  /** Apple's words, as they came, shortened; no secrets are in them. */
  text?: string;
  retryAt?: Date;
  cause?: unknown;
}

/** Why Apple's service of the enrollment program did not do what it was asked to. */
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
    this.name = 'ProgramError';
    this.status = status;
    this.text = text;
    this.retryAt = retryAt;
  }
}
