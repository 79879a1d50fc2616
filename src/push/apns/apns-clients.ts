import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { ApnsClient } from './apns-client.js';
import type { ApnsCredentials } from './apns-connect.js';
import type { ApnsLimits } from './apns-limits.js';

export interface ApnsClientsOptions {
  host: string;
  /** PEM of the CAs to trust for `host`; by default those of Node.js. */
  ca?: string | undefined;
  logger: Logger;
  /** Reads the push certificate to use for a topic now; undefined without one. */
  load: (topic: string) => Promise<ApnsCredentials | undefined>;
  limits?: Partial<ApnsLimits> | undefined;
}

/** For a topic without a certificate, `load` is called again after so long, announced or not. */
const RELOAD_AFTER_MS = 30_000;

/** One client per topic, always with its newest certificate. */
export class ApnsClients {
  readonly #topics = new Map<string, TopicClient>();
  #isClosed = false;

  constructor(private readonly options: ApnsClientsOptions) {}

  /** Undefined without a push certificate for the topic. */
  async forTopic(topic: string): Promise<ApnsClient | undefined> {
    const known = this.#topics.get(topic) ?? this.#add(topic);
    return await known.current();
  }

  /**
   * Loads the certificates again; new pushes use one that has changed. Topics without a client are
   * dropped: the next push to one loads it again.
   */
  async refresh(): Promise<void> {
    if (this.#isClosed) return;
    for (const [topic, known] of this.#topics) if (known.isAbsent) this.#topics.delete(topic);
    await Promise.all([...this.#topics.values()].map((known) => known.reload()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#topics.values()].map((known) => known.close()));
  }

  #add(topic: string): TopicClient {
    if (this.#isClosed) throw new AppError('unavailable', 503, 'the server is stopping');
    const added = new TopicClient(topic, this.options);
    this.#topics.set(topic, added);
    return added;
  }
}

/** The client of one topic, and former ones that still finish their pushes. */
class TopicClient {
  client: ApnsClient | undefined;
  #fingerprint: string | undefined;
  #loadedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  readonly #retired = new Set<Promise<void>>();

  constructor(
    private readonly topic: string,
    private readonly options: ApnsClientsOptions,
  ) {}

  /** It has no client and is not loading one. */
  get isAbsent(): boolean {
    return this.client === undefined && this.#loading === undefined;
  }

  async current(): Promise<ApnsClient | undefined> {
    const isOutdated = performance.now() - this.#loadedAt >= RELOAD_AFTER_MS;
    if (this.client === undefined && isOutdated) await (this.#loading ?? this.reload());
    return this.client;
  }

  /** One load after the other: an earlier result must not replace a later one. */
  reload(): Promise<void> {
    const before = this.#loading ?? Promise.resolve();
    const loading = before
      .catch(() => undefined)
      .then(() => this.#load())
      .finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    this.#loading = loading;
    return loading;
  }

  async close(): Promise<void> {
    await this.#loading?.catch(() => undefined);
    await Promise.all([this.client?.close(), ...this.#retired]);
  }

  async #load(): Promise<void> {
    const { load, ...options } = this.options;
    const credentials = await load(this.topic);
    this.#loadedAt = performance.now();
    if (credentials?.fingerprint === this.#fingerprint) return;
    const { client: former } = this;
    this.client = credentials && new ApnsClient({ ...options, credentials });
    this.#fingerprint = credentials?.fingerprint;
    if (former) this.#retire(former);
  }

  #retire(former: ApnsClient): void {
    const { topic, options } = this;
    options.logger.info({ topic, fingerprint: this.#fingerprint }, 'push certificate changed');
    const closed = former.close().finally(() => this.#retired.delete(closed));
    this.#retired.add(closed);
  }
}
