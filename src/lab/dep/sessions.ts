import { randomBytes } from 'node:crypto';
import { DepRefusal } from './dep-refusal.js';
import type { MdmServer } from './mdm-server.js';

interface Session {
  server: string;
  /** Of the token that it was opened with. */
  issuedAt: number;
  expiresAt: number;
  /** Replies that it was used for. */
  uses: number;
}

export interface SessionOptions {
  /** Three minutes when absent, as with Apple. */
  lifeMs?: number;
  /** After so many replies the client is given another one; 20 when absent. */
  repliesBeforeRenewal?: number;
}

const LIFE_MS = 180_000;
const REPLIES = 20;
const MOST = 10_000;

/** The sessions of clients: short, and renewed by replies now and then. */
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
    if (oldest !== undefined && this.#all.size > MOST) this.#all.delete(oldest);
    return token;
  }

  /**
   * The name of the server, and another token where this reply brings one. Throws ProgramRefusal
   * 403 FORBIDDEN for tokens that are none, 401 UNAUTHORIZED for those that have expired.
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

  /** All of them, at once. */
  expire(): void {
    for (const session of this.#all.values()) session.expiresAt = 0;
  }

  /** As after a restart of Apple's: nobody knows them any more. */
  forget(): void {
    this.#all.clear();
  }
}
