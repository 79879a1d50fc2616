import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/connection/database.js';
import { type ClaimedPush, claimPushes } from '../db/push/push-queue.js';
import type { PushRecipient } from '../db/push/push-recipients.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import type { Availability } from './availability.js';
import { OutcomeWriter } from './outcome-writer.js';
import type { PushAttempts } from './push-attempts.js';
import type { Pusher } from './pusher.js';

export interface DispatcherDeps {
  db: Database;
  recipient: PushRecipient;
  logger: Logger;
  pusher: Pusher;
  attempts: PushAttempts;
  availability: Availability;
  onResult?: ((result: string, count: number) => void) | undefined;
}

/** Rows also come due without a notification, and notifications get lost. */
const CLAIM_EVERY_MS = 1_000;
/** Rows that come due within this time of the last claim are claimed together, in one statement. */
const GATHER_MS = 20;
const BATCH = 500;
/** Most pushes that this process has claimed and whose outcome it has not stored yet. */
const MAX_UNDER_WAY = 2_000;
/** Fewer are not worth a statement while others are under way. */
const MIN_CLAIM = 100;
/** Pushes sent to find out whether the push service can be reached again. */
const PROBES = 10;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;

/** Claims devices, or users, whose push is due and pushes them, for as long as it runs. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #writer: OutcomeWriter;
  readonly #warn: Warner;
  readonly #wakeUp = new WakeUp();
  readonly #stopping = new AbortController();
  #underWay = 0;
  /** The last claim left rows that are due, since the limit was reached. */
  #hasBacklog = false;
  #failures = 0;
  #claimedAt = 0;
  #isWarned = false;
  #running: Promise<void> = Promise.resolve();
  #onIdle: () => void = () => undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#warn = createWarner(deps.logger);
    this.#writer = new OutcomeWriter({
      db: deps.db,
      recipient: deps.recipient,
      logger: deps.logger,
      onResult: deps.onResult,
      onStored: (count, isDue) => this.#release(count, isDue),
    });
  }

  start(): void {
    this.#running = this.#run();
  }

  wake(): void {
    this.#wakeUp.call();
  }

  /** Stops claiming; resolves when nothing is under way, after `ms` at the latest. */
  async stop(ms: number): Promise<void> {
    this.#stopping.abort();
    this.#deps.attempts.close();
    this.#writer.close();
    this.wake();
    const tooLate = new AbortController();
    const deadline = sleep(ms, undefined, { signal: tooLate.signal }).catch(() => undefined);
    await Promise.race([this.#ended(), deadline]);
    tooLate.abort();
  }

  async #ended(): Promise<void> {
    await this.#running;
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const limit = this.#claimLimit();
      this.#hasBacklog = limit === 0 || (await this.#claim(limit));
      if (limit > 0 && this.#hasBacklog) continue;
      const { pauseMs } = this.#deps.availability;
      await this.#wakeUp.sleep(Math.min(pauseMs || CLAIM_EVERY_MS, CLAIM_EVERY_MS));
      await this.#gather();
    }
  }

  async #gather(): Promise<void> {
    const rest = this.#claimedAt + GATHER_MS - performance.now();
    const { signal } = this.#stopping;
    if (rest > 0) await sleep(rest, undefined, { signal }).catch(() => undefined);
    this.#claimedAt = performance.now();
  }

  /** How many rows to claim now. */
  #claimLimit(): number {
    const { isUnreachable, pauseMs } = this.#deps.availability;
    if (pauseMs > 0) return 0;
    if (isUnreachable) return this.#underWay === 0 ? PROBES : 0;
    const room = MAX_UNDER_WAY - this.#underWay;
    return room < MIN_CLAIM ? 0 : Math.min(room, BATCH);
  }

  /** Claims what is due and pushes it; true when there may be more. */
  async #claim(limit: number): Promise<boolean> {
    const { db, recipient } = this.#deps;
    try {
      const claims = await claimPushes(db, recipient, limit);
      this.#recovered();
      if (claims.length > 0) void this.#push(claims);
      return claims.length === limit;
    } catch (error) {
      await this.#pauseAfter(error);
      return true;
    }
  }

  async #push(claims: ClaimedPush[]): Promise<void> {
    this.#underWay += claims.length;
    try {
      await this.#deps.pusher.push(claims, (outcome) => {
        if (outcome === null) this.#release(1, false);
        else this.#writer.add(outcome);
      });
    } catch (error) {
      this.#warn(
        { err: error },
        'devices to push could not be read; their claims run out and they are claimed again',
      );
      this.#release(claims.length, false);
    }
  }

  #release(count: number, isDue: boolean): void {
    this.#underWay -= count;
    if (isDue || this.#hasBacklog) this.wake();
    if (this.#underWay === 0) this.#onIdle();
  }

  #recovered(): void {
    if (this.#isWarned) this.#deps.logger.info('due pushes can be read again');
    this.#isWarned = false;
    this.#failures = 0;
  }

  /** The database fails: logs one line, and pauses longer each time. */
  async #pauseAfter(error: unknown): Promise<void> {
    const message = 'due pushes could not be read';
    if (this.#failures === 0) this.#isWarned = this.#warn({ err: error }, message);
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS);
    this.#failures += 1;
    await sleep(pause, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}

/** Lets one loop sleep until a call; a call while it is awake ends its next sleep. */
class WakeUp {
  #isCalled = false;
  #end: (() => void) | undefined;

  call(): void {
    this.#isCalled = true;
    this.#end?.();
  }

  /** Resolves at the next call, at once if there was one since the last sleep, else after `ms`. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isCalled) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#end = undefined;
    this.#isCalled = false;
  }
}
