import { AppError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { type ApnsClient, type ApnsCredentials, createApnsClient } from './apns-client.js';
import type { ApnsLimits } from './apns-limits.js';

export interface ApnsClientsOptions {
  host: string;
  /** PEM of the CAs to believe for `host`; those Node knows by default. */
  ca?: string | undefined;
  logger: Logger;
  /** The push certificate to use for a topic now; undefined without one. */
  load: (topic: string) => Promise<ApnsCredentials | undefined>;
  limits?: Partial<ApnsLimits>;
}

/** One client for each topic, always with its newest certificate. */
export interface ApnsClients {
  /** Undefined without a push certificate for the topic. */
  forTopic(topic: string): Promise<ApnsClient | undefined>;
  /** Asks again which certificates there are; one that has changed takes over for new pushes. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** A topic without a certificate is asked for again after this, announced or not. */
const ABSENT_FOR_MS = 30_000;

/** The client of one topic, and those before it that still finish their pushes. */
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

  /** Nobody uses it, or is about to. */
  get isAbsent(): boolean {
    return this.client === undefined && this.#loading === undefined;
  }

  async current(): Promise<ApnsClient | undefined> {
    const isOutdated = performance.now() - this.#loadedAt >= ABSENT_FOR_MS;
    if (this.client === undefined && isOutdated) await (this.#loading ?? this.renew());
    return this.client;
  }

  /** One after the other: an earlier answer must not replace a later one. */
  renew(): Promise<void> {
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
    this.client = credentials && createApnsClient({ ...options, credentials });
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

class ClientsByTopic implements ApnsClients {
  readonly #topics = new Map<string, TopicClient>();
  #isClosed = false;

  constructor(private readonly options: ApnsClientsOptions) {}

  async forTopic(topic: string): Promise<ApnsClient | undefined> {
    const known = this.#topics.get(topic) ?? this.#add(topic);
    return await known.current();
  }

  /** Topics without a client are forgotten: whoever has a device there asks again. */
  async refresh(): Promise<void> {
    if (this.#isClosed) return;
    for (const [topic, known] of this.#topics) if (known.isAbsent) this.#topics.delete(topic);
    await Promise.all([...this.#topics.values()].map((known) => known.renew()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#topics.values()].map((known) => known.close()));
  }

  #add(topic: string): TopicClient {
    if (this.#isClosed) throw new AppError('unavailable', 503, 'the server stops');
    const added = new TopicClient(topic, this.options);
    this.#topics.set(topic, added);
    return added;
  }
}

export function createApnsClients(options: ApnsClientsOptions): ApnsClients {
  return new ClientsByTopic(options);
}
