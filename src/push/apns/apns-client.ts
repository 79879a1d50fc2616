import { randomUUID } from 'node:crypto';
import type { Logger } from '../../logger.js';
import type { ApnsAnswer, ApnsPush } from '../../protocol/apns.js';
import { type ApnsConnect, type ApnsConnectOptions, createConnect } from './apns-connect.js';
import { ApnsExchange } from './apns-exchange.js';
import { type ApnsFailureKind, ApnsUnreachableError } from './apns-failures.js';
import { APNS_LIMITS, ApnsBackOff, type ApnsLimits, startTicks } from './apns-limits.js';
import { ApnsSession, type ApnsSessionOwner } from './apns-session.js';

export interface ApnsClientOptions extends ApnsConnectOptions {
  logger: Logger;
  limits?: Partial<ApnsLimits> | undefined;
}

const CLOSED = 'is no longer used: this client is closed';
const EXPIRATION_SECONDS = 7 * 86_400;

/** Pushes to the devices of one topic over a few connections, the first opened by the first push. */
export class ApnsClient implements ApnsSessionOwner {
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

  /** Resolves with Apple's answer, whatever it is; rejects with ApnsUnreachableError without one. */
  push(push: ApnsPush): Promise<ApnsAnswer> {
    const {
      apnsId = randomUUID(),
      expiration = Math.floor(Date.now() / 1000) + EXPIRATION_SECONDS,
    } = push;
    return new Promise((resolve, reject) => {
      const complete = { ...push, apnsId, expiration };
      const expiresAt = performance.now() + this.#limits.pushTimeout;
      this.#submit(new ApnsExchange(complete, expiresAt, { resolve, reject }));
    });
  }

  /** Until then pushes are refused at once, since connecting failed; undefined while it can push. */
  get retryAt(): Date | undefined {
    return this.#live().length === 0 && this.#backOff.isActive
      ? this.#backOff.error.retryAt
      : undefined;
  }

  /** Waits up to `drainTimeout` for pushes under way, then rejects them, and all later ones. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  onCapacity(): void {
    this.#sendQueued();
  }

  onFirstAnswer(): void {
    this.#backOff.succeed();
  }

  onRetry(exchange: ApnsExchange): void {
    this.#retry(exchange);
  }

  onFailure(exchange: ApnsExchange, message: string): void {
    exchange.reject(this.#unreachable(message));
    this.#reportDrained();
  }

  onLeaving({ failure, hasAnswered, isGraceful }: ApnsSession): void {
    const service = { host: this.#service, topic: this.#topic };
    this.#logger.debug(
      { ...service, why: failure.message },
      'connection to the push service ended',
    );
    if (!hasAnswered || failure.kind === 'certificate_refused')
      this.#backOff.fail(failure, isGraceful);
  }

  onClosed(session: ApnsSession): void {
    this.#sessions.delete(session);
    this.#sendQueued();
  }

  /** Repeated once, and only if the lost connection had worked: another would fail the same way. */
  onLost({ hasAnswered, failure }: ApnsSession, exchange: ApnsExchange): void {
    if (hasAnswered && !exchange.wasLost && this.#closing === undefined) {
      exchange.wasLost = true;
      this.#retry(exchange);
    } else {
      exchange.reject(this.#unreachable(failure.message, failure.kind));
      this.#reportDrained();
    }
  }

  #live(): ApnsSession[] {
    return [...this.#sessions].filter(({ state }) => state !== 'leaving');
  }

  #submit(exchange: ApnsExchange): void {
    if (this.#closing !== undefined) exchange.reject(this.#unreachable(CLOSED));
    else if (this.#queue.length > 0 || !this.#sendAtOnce(exchange)) this.#wait(exchange);
  }

  #wait(exchange: ApnsExchange): void {
    if (this.#queue.length >= this.#limits.queued) {
      exchange.reject(this.#unreachable('is busy: too many pushes are waiting'));
    } else {
      this.#queue.push(exchange);
      this.#sendQueued();
    }
  }

  #sendAtOnce(exchange: ApnsExchange): boolean {
    const now = performance.now();
    for (const session of this.#sessions) {
      if (!session.canSend(now)) continue;
      session.send(exchange, now);
      return true;
    }
    return false;
  }

  /** On another stream, ahead of the pushes that were never sent. */
  #retry(exchange: ApnsExchange): void {
    this.#queue.unshift(exchange);
    this.#sendQueued();
  }

  /** Sends as many queued pushes as possible and opens a connection for the rest. */
  #sendQueued(): void {
    while (this.#queue[0] && this.#sendAtOnce(this.#queue[0])) this.#queue.shift();
    if (this.#queue.length > 0) this.#grow();
    if (this.#queue.length > 0 && this.#live().length === 0) {
      for (const exchange of this.#queue.splice(0)) exchange.reject(this.#backOff.error);
    }
    this.#reportDrained();
  }

  /** One connection at a time, so that a burst first learns how many streams one holds. */
  #grow(): void {
    if (this.#backOff.isActive) return;
    const live = this.#live();
    if (live.length >= this.#limits.sessions) return;
    if (live.some(({ state }) => state === 'connecting' || state === 'checking')) return;
    try {
      this.#sessions.add(new ApnsSession(this.#connect(), this.#limits, this));
    } catch (cause) {
      const message = 'is not contacted: the push certificate and its key cannot be used';
      this.#backOff.fail({ kind: 'certificate_refused', message, cause });
    }
  }

  #onTick(now: number): void {
    for (const session of this.#sessions) session.tick(now);
    this.#rejectExpired(now);
    // A back-off may have ended while pushes wait for another connection.
    if (this.#queue.length > 0) this.#sendQueued();
  }

  #rejectExpired(now: number): void {
    const expired = this.#queue.filter(({ expiresAt }) => expiresAt <= now);
    if (expired.length === 0) return;
    this.#queue = this.#queue.filter(({ expiresAt }) => expiresAt > now);
    for (const exchange of expired)
      this.onFailure(exchange, 'had no free stream for the push in time');
  }

  #unreachable(message: string, kind: ApnsFailureKind = 'unreachable'): ApnsUnreachableError {
    const retryAt = this.retryAt ?? new Date(Date.now() + this.#limits.firstBackOff);
    return new ApnsUnreachableError(
      kind,
      `the push service at ${this.#service} ${message}`,
      retryAt,
    );
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
      exchange.reject(this.#unreachable(CLOSED));
    }
    await Promise.all([...this.#sessions].map((session) => session.destroy()));
  }

  /** Resolves when nothing is under way, or after `drainTimeout`. */
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
