import { randomUUID } from 'node:crypto';
import type { Logger } from '../../logger.js';
import type { ApnsAnswer, ApnsPush } from '../../protocol/apns.js';
import { ApnsBackOff } from './apns-back-off.js';
import { type ApnsConnect, type ApnsConnectOptions, createConnect } from './apns-connect.js';
import { ApnsExchange } from './apns-exchange.js';
import { APNS_LIMITS, type ApnsLimits } from './apns-limits.js';
import { ApnsSession } from './apns-session.js';
import type { ApnsSessionOwner } from './apns-session-owner.js';
import { startTicks } from './apns-ticker.js';
import { type ApnsFailure, ApnsUnreachableError } from './apns-unreachable.js';

export type { ApnsCredentials } from './apns-connect.js';

/** Pushes to the devices of one topic. */
export interface ApnsClient {
  /** Apple's answer, whatever it is. ApnsUnreachableError where there was none. */
  push(push: ApnsPush): Promise<ApnsAnswer>;
  /** Until when pushes are refused at once, since connecting has failed; undefined: go on. */
  readonly retryAt: Date | undefined;
  /** Finishes what is under way, two seconds at most; then, and for later pushes, it is over. */
  close(): Promise<void>;
}

export interface ApnsClientOptions extends ApnsConnectOptions {
  logger: Logger;
  limits?: Partial<ApnsLimits>;
}

const KEPT_SECONDS = 7 * 86_400;

class PooledClient implements ApnsClient, ApnsSessionOwner {
  readonly #service: string;
  readonly #topic: string;
  readonly #logger: Logger;
  readonly #limits: ApnsLimits;
  readonly #connect: ApnsConnect;
  readonly #backOff: ApnsBackOff;
  readonly #sessions = new Set<ApnsSession>();
  #queue: ApnsExchange[] = [];
  readonly #stopTicks: () => void;
  #closing: Promise<void> | undefined;
  #onDrained: () => void = () => undefined;

  constructor({ logger, limits, ...options }: ApnsClientOptions) {
    this.#service = new URL(options.host).host;
    this.#topic = options.credentials.topic;
    this.#logger = logger;
    this.#limits = { ...APNS_LIMITS, ...limits };
    this.#connect = createConnect(options, this.#limits.streams);
    this.#backOff = new ApnsBackOff(this.#service, this.#limits);
    this.#stopTicks = startTicks(this.#limits, (now) => this.#onTick(now));
  }

  push(push: ApnsPush): Promise<ApnsAnswer> {
    const { apnsId = randomUUID(), expiration = Math.floor(Date.now() / 1000) + KEPT_SECONDS } =
      push;
    return new Promise((resolve, reject) => {
      const complete = { ...push, apnsId, expiration };
      const expiresAt = performance.now() + this.#limits.pushTimeout;
      this.#submit(new ApnsExchange(complete, expiresAt, { resolve, reject }));
    });
  }

  get retryAt(): Date | undefined {
    return this.#live().length === 0 && this.#backOff.isActive
      ? this.#backOff.error.retryAt
      : undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  onRoom(): void {
    this.#serveQueue();
  }

  onAnswer(): void {
    this.#backOff.succeed();
  }

  onRepeat(exchange: ApnsExchange): void {
    this.#repeat(exchange);
  }

  onFailure(exchange: ApnsExchange, words: string): void {
    exchange.reject(this.#unreachable(words));
    this.#reportDrained();
  }

  onLeave({ fault, hasAnswered, isGraceful }: ApnsSession): void {
    const service = { host: this.#service, topic: this.#topic };
    this.#logger.debug({ ...service, why: fault.words }, 'connection to the push service ended');
    if (!hasAnswered || fault.kind === 'certificate_refused') this.#backOff.fail(fault, isGraceful);
  }

  onEnd(session: ApnsSession): void {
    this.#sessions.delete(session);
    this.#serveQueue();
  }

  /** Repeated once, and only after a connection that has worked: another would be no better. */
  onLost({ hasAnswered, fault }: ApnsSession, exchange: ApnsExchange): void {
    if (hasAnswered && !exchange.wasLost && this.#closing === undefined) {
      exchange.wasLost = true;
      this.#repeat(exchange);
    } else {
      exchange.reject(this.#unreachable(fault.words, fault.kind));
      this.#reportDrained();
    }
  }

  #live(): ApnsSession[] {
    return [...this.#sessions].filter(({ state }) => state !== 'leaving');
  }

  #submit(exchange: ApnsExchange): void {
    if (this.#closing !== undefined)
      exchange.reject(this.#unreachable('is no longer called from here'));
    else if (this.#queue.length > 0 || !this.#sendAtOnce(exchange)) this.#wait(exchange);
  }

  #wait(exchange: ApnsExchange): void {
    if (this.#queue.length >= this.#limits.queued) {
      exchange.reject(this.#unreachable('is busy: too many pushes wait'));
    } else {
      this.#queue.push(exchange);
      this.#serveQueue();
    }
  }

  #sendAtOnce(exchange: ApnsExchange): boolean {
    const now = performance.now();
    for (const session of this.#sessions) {
      if (!session.takes(now)) continue;
      session.send(exchange, now);
      return true;
    }
    return false;
  }

  /** On another connection or a later stream, ahead of those that were never sent. */
  #repeat(exchange: ApnsExchange): void {
    this.#queue.unshift(exchange);
    this.#serveQueue();
  }

  /** Sends what there is room for and sees to it that the others have something to wait for. */
  #serveQueue(): void {
    while (this.#queue[0] && this.#sendAtOnce(this.#queue[0])) this.#queue.shift();
    if (this.#queue.length > 0) this.#grow();
    if (this.#queue.length > 0 && this.#live().length === 0) {
      for (const exchange of this.#queue.splice(0)) exchange.reject(this.#backOff.error);
    }
    this.#reportDrained();
  }

  /** One connection at a time, so that a burst finds out what the first one holds. */
  #grow(): void {
    if (this.#backOff.isActive) return;
    const live = this.#live();
    if (live.length >= this.#limits.sessions) return;
    if (live.some(({ state }) => state === 'connecting' || state === 'checking')) return;
    try {
      this.#sessions.add(new ApnsSession(this.#connect(), this.#limits, this));
    } catch (cause) {
      const words = 'is not called: the push certificate and its key cannot be used';
      this.#backOff.fail({ kind: 'certificate_refused', words, cause });
    }
  }

  #onTick(now: number): void {
    for (const session of this.#sessions) session.tick(now);
    this.#giveUpLate(now);
    // A back-off may have ended while all that wait were waiting for another connection.
    if (this.#queue.length > 0) this.#serveQueue();
  }

  #giveUpLate(now: number): void {
    const late = this.#queue.filter(({ expiresAt }) => expiresAt <= now);
    if (late.length === 0) return;
    this.#queue = this.#queue.filter(({ expiresAt }) => expiresAt > now);
    for (const exchange of late) this.onFailure(exchange, 'had no place for the push in time');
  }

  #unreachable(words: string, kind: ApnsFailure = 'unreachable'): ApnsUnreachableError {
    const retryAt = this.retryAt ?? new Date(Date.now() + this.#limits.firstBackOff);
    return new ApnsUnreachableError(kind, `the push service at ${this.#service} ${words}`, retryAt);
  }

  get #isDrained(): boolean {
    return this.#queue.length === 0 && [...this.#sessions].every(({ size }) => size === 0);
  }

  #reportDrained(): void {
    if (this.#closing !== undefined && this.#isDrained) this.#onDrained();
  }

  async #close(): Promise<void> {
    if (!this.#isDrained) await this.#drained();
    this.#stopTicks();
    for (const exchange of this.#queue.splice(0)) {
      exchange.reject(this.#unreachable('is no longer called from here'));
    }
    await Promise.all([...this.#sessions].map((session) => session.destroy()));
  }

  /** Or the time for it is over. */
  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#limits.drainTimeout);
      this.#onDrained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Connects when the first push comes. */
export function createApnsClient(options: ApnsClientOptions): ApnsClient {
  return new PooledClient(options);
}
