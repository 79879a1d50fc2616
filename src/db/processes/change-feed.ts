import { randomBytes } from 'node:crypto';
import { createWarner, type Logger, type Warner } from '../../logger.js';
import type { Database } from '../connection/database.js';
import { LISTEN_CHANNEL, ListenConnection } from './listen-connection.js';

/** What processes keep in memory and hear of when another one changes it; see table change_topics. */
export type ChangeTopic =
  | 'authorities'
  | 'push_certificates'
  | 'push_topics'
  | 'revocations'
  | 'ssl_certificates'
  | 'tokens';

/** Announced without a version, since the due rows themselves are looked for again and again. */
export type Announcement = ChangeTopic | 'pushes';

/** One that throws or rejects runs again with the next look, every few seconds, until it succeeds. */
export type ChangeListener = () => unknown;

export interface ChangeFeed {
  /** `listener` runs after each change, when changes may have been missed, and once at the start. */
  on(topic: Announcement, listener: ChangeListener): void;
  /** Tells the other processes, and this one. Never rejects: a lost word is made up for. */
  announce(topic: 'pushes'): void;
  start(): Promise<void>;
  /** Resolves when nothing is under way any more, listeners included. */
  stop(): Promise<void>;
}

export interface ChangeFeedDeps {
  db: Pick<Database, 'background' | 'createClient' | 'namedStatements'>;
  logger: Logger;
  /** How often versions are compared, whatever was heard. */
  pollMs?: number;
  /** First pause before a lost connection is made again; each further one is twice as long. */
  reconnectMs?: number;
}

const LISTENING_POLL_MS = 2_000;
/** Behind a pooler looking is all there is. */
const DEAF_POLL_MS = 1_000;
const RECONNECT_MS = 200;
const ANNOUNCE_MS = 50;

/** An answer that takes longer shows that the connection is dead, also where TCP has not noticed. */
const LOOK = { text: 'select topic, version from change_topics', query_timeout: 3_000 };
const TELL = { text: 'select pg_notify($1, $2)', query_timeout: 3_000 };

interface VersionRow {
  topic: ChangeTopic;
  version: number;
}

/**
 * Words are only a hint to look: what has changed is told by the versions, so that a word that was
 * lost, or heard twice, makes no difference.
 */
class VersionedChangeFeed implements ChangeFeed {
  readonly #listeners = new Map<Announcement, ChangeListener[]>();
  readonly #running = new Set<Promise<void>>();
  readonly #versions = new Map<ChangeTopic, number>();
  readonly #name = randomBytes(8).toString('hex');
  readonly #connection: ListenConnection | undefined;
  readonly #deps: ChangeFeedDeps;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  readonly #warn: Warner;
  #isBlind = false;
  #isTold = false;
  #announceTimer: NodeJS.Timeout | undefined;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #telling: Promise<void> = Promise.resolve();

  constructor(deps: ChangeFeedDeps) {
    const { db, logger, reconnectMs = RECONNECT_MS } = deps;
    this.#deps = deps;
    this.#warn = createWarner(logger);
    // A transaction-mode pooler gives the backend that listens to somebody else.
    if (!db.namedStatements) return;
    this.#connection = new ListenConnection({
      ...{ createClient: db.createClient, logger, reconnectMs },
      onWord: (word) => this.#hear(word),
      onListening: () => this.#look(),
    });
  }

  on(topic: Announcement, listener: ChangeListener): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener]);
  }

  announce(topic: 'pushes'): void {
    this.#run(topic);
    if (this.#announceTimer !== undefined) return;
    const wait = this.#announcedAt + ANNOUNCE_MS - performance.now();
    if (wait <= 0) this.#tell(topic);
    else this.#announceTimer = setTimeout(() => this.#tell(topic), wait);
  }

  async start(): Promise<void> {
    const { db, pollMs = db.namedStatements ? LISTENING_POLL_MS : DEAF_POLL_MS } = this.#deps;
    this.#timer ??= setInterval(() => void this.#look(), pollMs).unref();
    await this.#look();
    await this.#connection?.start();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#announceTimer !== undefined) this.#tell('pushes');
    await this.#connection?.stop();
    await this.#looking;
    await this.#telling;
    await Promise.all(this.#running);
  }

  #hear(word: string): void {
    const [topic, sender] = word.split(' ');
    if (topic !== 'pushes') void this.#look();
    else if (sender !== this.#name) this.#run(topic);
  }

  #tell(topic: 'pushes'): void {
    clearTimeout(this.#announceTimer);
    this.#announceTimer = undefined;
    this.#announcedAt = performance.now();
    const { db, logger } = this.#deps;
    const values = [LISTEN_CHANNEL, `${topic} ${this.#name}`];
    this.#telling = this.#telling
      .then(() => db.background.query({ ...TELL, values }))
      .then(
        () => undefined,
        (error: unknown) => logger.debug({ err: error, topic }, 'other processes were not told'),
      );
  }

  /** One look at a time; a word heard meanwhile makes another one follow. */
  #look(): Promise<void> {
    if (this.#looking !== undefined) {
      this.#looksAgain = true;
      return this.#looking;
    }
    this.#looking = this.#lookUntilCurrent().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookUntilCurrent(): Promise<void> {
    do {
      this.#looksAgain = false;
      await this.#compareVersions();
    } while (this.#looksAgain && this.#timer !== undefined);
  }

  async #compareVersions(): Promise<void> {
    const rows = await this.#readVersions();
    const changed = rows.filter(({ topic, version }) => this.#versions.get(topic) !== version);
    for (const { topic, version } of changed) {
      this.#versions.set(topic, version);
      this.#run(topic);
    }
  }

  async #readVersions(): Promise<VersionRow[]> {
    const { db, logger } = this.#deps;
    const client = this.#connection?.client;
    try {
      const { rows } = await (client ?? db.background).query<VersionRow>(LOOK);
      if (this.#isTold) logger.info('changes by other processes are seen again');
      this.#isBlind = false;
      this.#isTold = false;
      return rows;
    } catch (error) {
      if (client !== undefined) this.#connection?.reset(client, error);
      else if (!this.#isBlind) {
        this.#isBlind = true;
        const message = 'changes by other processes are not seen at present';
        this.#isTold = this.#warn({ err: error }, message);
      }
      return [];
    }
  }

  #run(topic: Announcement): void {
    for (const listener of this.#listeners.get(topic) ?? []) {
      const run = this.#runOne(topic, listener).finally(() => this.#running.delete(run));
      this.#running.add(run);
    }
  }

  async #runOne(topic: Announcement, listener: ChangeListener): Promise<void> {
    try {
      await listener();
    } catch (error) {
      this.#deps.logger.error({ err: error, topic }, 'a change could not be taken over');
      if (topic !== 'pushes') this.#versions.delete(topic);
    }
  }
}

/**
 * Hears of changes by a connection of its own that listens, and compares versions all the same:
 * every two seconds, each second behind a transaction-mode pooler, and after each reconnection.
 */
export function createChangeFeed(deps: ChangeFeedDeps): ChangeFeed {
  return new VersionedChangeFeed(deps);
}
