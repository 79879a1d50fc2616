import { z } from 'zod';
import { readJson } from './answers.js';
import type { ServiceAnswer } from './exchange.js';

/** The session value that one call uses. */
export interface SessionLease {
  value: string;
  /** Number of the login that opened the session. */
  login: number;
}

/** The session of one token, shared by all calls with it; one login at a time. */
export class DepSession {
  readonly #logIn: () => Promise<string>;
  #current: SessionLease | undefined;
  #pending: Promise<SessionLease> | undefined;
  #logins = 0;

  constructor(logIn: () => Promise<string>) {
    this.#logIn = logIn;
  }

  /** Logs in if there is no session. Aborting one call does not abort the shared login. */
  lease(signal: AbortSignal): Promise<SessionLease> {
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    this.#pending ??= this.#begin();
    return unlessAborted(this.#pending, signal);
  }

  /** Stores the next session value if the answer carries one. */
  renew({ login }: SessionLease, value: string | undefined): void {
    if (value !== undefined && this.#current?.login === login) this.#current = { value, login };
  }

  /** Forgets a session that Apple rejected, unless a newer login has replaced it. */
  drop({ login }: SessionLease): void {
    if (this.#current?.login === login) this.#current = undefined;
  }

  #begin(): Promise<SessionLease> {
    const pending = this.#open().finally(() => {
      this.#pending = undefined;
    });
    // Every waiting call may have been aborted.
    pending.catch(() => undefined);
    return pending;
  }

  async #open(): Promise<SessionLease> {
    const value = await this.#logIn();
    this.#logins += 1;
    this.#current = { value, login: this.#logins };
    return this.#current;
  }
}

/** Characters that may occur in a header. */
const VALUE = z.string().regex(/^[\x21-\x7e]{1,4096}$/);

const ANSWER = z.object({ auth_session_token: VALUE });

/** The session value of the answer to a login; undefined if it has none. */
export function sessionValue({ body }: ServiceAnswer): string | undefined {
  return ANSWER.safeParse(readJson(body)).data?.auth_session_token;
}

/** The next session value, which any answer may carry. */
export function nextSessionValue({ headers }: ServiceAnswer): string | undefined {
  return VALUE.safeParse(headers['x-adm-auth-session']).data;
}

/** Rejects with the signal's reason when that comes first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = withReject();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function withReject(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<never>((_, given) => {
    reject = given;
  });
  return { promise, reject };
}
