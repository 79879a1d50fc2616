import { randomBytes } from 'node:crypto';
import { createWarner, type Logger, type Warner } from '../../logger.js';
import type { Database } from '../connection/database.js';
import { LISTEN_CHANNEL, ListenConnection } from './listen-connection.js';

/** What processes keep in memory, and reload when another one changes it; see table change_topics. */
export type ChangeTopic =
  | 'authorities'
  | 'push_certificates'
  | 'push_topics'
  | 'revocations'
  | 'sessions'
  | 'ssl_certificates'
  | 'tokens';

/** Pushes are announced without a version, since due rows are looked for every second anyway. */
export type Announcement = ChangeTopic | 'pushes';

/** If it throws or rejects, it runs again with the next comparison, until it succeeds. */
export type ChangeListener = () => unknown;

export interface ChangeFeedDeps {
  db: Pick<Database, 'background' | 'createClient' | 'namedStatements'>;
  logger: Logger;
  /** How often versions are compared without a notification. */
  pollMs?: number | undefined;
  /** First pause before a lost connection is made again; each further one is twice as long. */
  reconnectMs?: number | undefined;
}

const LISTENING_POLL_MS = 2_000;
/** Behind a transaction-mode pooler there are no notifications. */
const POOLER_POLL_MS = 1_000;
const RECONNECT_MS = 200;
const ANNOUNCE_MS = 50;

/** A slower answer means that the connection is dead, even if TCP has not noticed. */
const READ_VERSIONS = { text: 'select topic, version from change_topics', query_timeout: 3_000 };
const NOTIFY = { text: 'select pg_notify($1, $2)', query_timeout: 3_000 };

interface VersionRow {
  topic: ChangeTopic;
  version: number;
}

/**
 * Notices when another process changes what this one keeps in memory. A notification only makes it
 * compare versions, so a lost or repeated one makes no difference. Versions are also compared every two
 * seconds, each second behind a transaction-mode pooler, and after each reconnection.
 */
export class ChangeFeed {
  readonly #listeners = new Map<Announcement, ChangeListener[]>();
  readonly #running = new Set<Promise<void>>();
  readonly #versions = new Map<ChangeTopic, number>();
  readonly #name = randomBytes(8).toString('hex');
  readonly #connection: ListenConnection | undefined;
  readonly #deps: ChangeFeedDeps;
  #timer: NodeJS.Timeout | undefined;
  #comparing: Promise<void> | undefined;
  #comparesAgain = false;
  readonly #warn: Warner;
  #isFailing = false;
  #isWarned = false;
  #announceTimer: NodeJS.Timeout | undefined;
  #announcedAt = Number.NEGATIVE_INFINITY;
  #notifying: Promise<void> = Promise.resolve();

  constructor(deps: ChangeFeedDeps) {
    const { db, logger, reconnectMs = RECONNECT_MS } = deps;
    this.#deps = deps;
    this.#warn = createWarner(logger);
    // A transaction-mode pooler passes the backend that listens to other clients.
    if (!db.namedStatements) return;
    this.#connection = new ListenConnection({
      createClient: db.createClient,
      logger,
      reconnectMs,
      onNotification: (payload) => this.#onNotification(payload),
      onListening: () => this.#compare(),
    });
  }

  /** `listener` runs after each change, when changes may have been missed, and once at the start. */
  on(topic: Announcement, listener: ChangeListener): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener]);
  }

  /** Notifies the other processes, and this one. Never rejects: a lost notification does no harm. */
  announce(topic: 'pushes'): void {
    this.#run(topic);
    if (this.#announceTimer !== undefined) return;
    const wait = this.#announcedAt + ANNOUNCE_MS - performance.now();
    if (wait <= 0) this.#notify(topic);
    else this.#announceTimer = setTimeout(() => this.#notify(topic), wait);
  }

  async start(): Promise<void> {
    const { db, pollMs = db.namedStatements ? LISTENING_POLL_MS : POOLER_POLL_MS } = this.#deps;
    this.#timer ??= setInterval(() => void this.#compare(), pollMs).unref();
    await this.#compare();
    await this.#connection?.start();
  }

  /** Resolves when all running work has ended, listeners included. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#announceTimer !== undefined) this.#notify('pushes');
    await this.#connection?.stop();
    await this.#comparing;
    await this.#notifying;
    await Promise.all(this.#running);
  }

  #onNotification(payload: string): void {
    const [topic, sender] = payload.split(' ');
    if (topic !== 'pushes') void this.#compare();
    else if (sender !== this.#name) this.#run(topic);
  }

  #notify(topic: 'pushes'): void {
    clearTimeout(this.#announceTimer);
    this.#announceTimer = undefined;
    this.#announcedAt = performance.now();
    const { db, logger } = this.#deps;
    const values = [LISTEN_CHANNEL, `${topic} ${this.#name}`];
    this.#notifying = this.#notifying
      .then(() => db.background.query({ ...NOTIFY, values }))
      .then(
        () => undefined,
        (error: unknown) =>
          logger.debug({ err: error, topic }, 'other processes could not be notified'),
      );
  }

  /** One comparison at a time; a notification meanwhile makes another one follow. */
  #compare(): Promise<void> {
    if (this.#comparing !== undefined) {
      this.#comparesAgain = true;
      return this.#comparing;
    }
    this.#comparing = this.#compareUntilCurrent().finally(() => {
      this.#comparing = undefined;
    });
    return this.#comparing;
  }

  async #compareUntilCurrent(): Promise<void> {
    do {
      this.#comparesAgain = false;
      await this.#compareVersions();
    } while (this.#comparesAgain && this.#timer !== undefined);
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
      const { rows } = await (client ?? db.background).query<VersionRow>(READ_VERSIONS);
      if (this.#isWarned) logger.info('changes by other processes are noticed again');
      this.#isFailing = false;
      this.#isWarned = false;
      return rows;
    } catch (error) {
      if (client !== undefined) this.#connection?.reset(client, error);
      else if (!this.#isFailing) {
        this.#isFailing = true;
        const message = 'changes by other processes are not noticed: the database does not answer';
        this.#isWarned = this.#warn({ err: error }, message);
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
      this.#deps.logger.error(
        { err: error, topic },
        'a change could not be applied here; it is tried again',
      );
      if (topic !== 'pushes') this.#versions.delete(topic);
    }
  }
}
