import { randomBytes } from 'node:crypto';
import { DepRefusal } from './dep-refusal.js';
import type { MdmServer } from './mdm-server.js';

interface Session {
  server: string;
  /** Time of issue of the token that opened it. */
  issuedAt: number;
  expiresAt: number;
  /** Number of replies. */
  uses: number;
}

export interface SessionOptions {
  /** Default: three minutes, like Apple. */
  lifeMs?: number;
  /** Number of replies after which the client gets a new session; default 20. */
  repliesBeforeRenewal?: number;
}

const LIFE_MS = 180_000;
const REPLIES = 20;
const MAX_SESSIONS = 10_000;

/** The sessions of clients: short-lived, and renewed by some replies. */
export class Sessions {
  readonly #all = new Map<string, Session>();
  readonly #lifeMs: number;
  readonly #replies: number;

  constructor({ lifeMs = LIFE_MS, repliesBeforeRenewal = REPLIES }: SessionOptions) {
    this.#lifeMs = lifeMs;
    this.#replies = repliesBeforeRenewal;
  }

  open({ server, issuedAt }: Pick<Session, 'server' | 'issuedAt'>): string {
    const token = randomBytes(32).toString('base64url');
    const expiresAt = Date.now() + this.#lifeMs;
    this.#all.set(token, { server, issuedAt, expiresAt, uses: 0 });
    const [oldest] = this.#all.keys();
    if (oldest !== undefined && this.#all.size > MAX_SESSIONS) this.#all.delete(oldest);
    return token;
  }

  /**
   * The server, and the next session if this reply renews it. Throws DepRefusal 403 FORBIDDEN for an
   * unknown session, 401 UNAUTHORIZED for an expired one.
   */
  use(token: string, serverOf: (name: string) => MdmServer): { server: MdmServer; next?: string } {
    const session = this.#all.get(token);
    if (session === undefined) throw new DepRefusal(403, 'FORBIDDEN');
    const server = serverOf(session.server);
    const isOver = session.expiresAt <= Date.now() || session.issuedAt < server.tokenIssuedAt;
    if (isOver) throw new DepRefusal(401, 'UNAUTHORIZED');
    session.uses += 1;
    return session.uses % this.#replies === 0 ? { server, next: this.open(session) } : { server };
  }

  /** Expires all sessions. */
  expire(): void {
    for (const session of this.#all.values()) session.expiresAt = 0;
  }

  /** Drops all sessions, as after a restart of Apple's service. */
  forget(): void {
    this.#all.clear();
  }
}
