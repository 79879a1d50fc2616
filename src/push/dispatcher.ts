import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/connection/database.js';
import { type ClaimedPush, claimPushes } from '../db/push/push-queue.js';
import type { PushRecipient } from '../db/push/push-recipients.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import type { Availability } from './availability.js';
import { OutcomeWriter } from './outcome-writer.js';
import type { PushAttempts } from './push-attempt.js';
import type { Pusher } from './pusher.js';
import { WakeUp } from './wake-up.js';

export interface DispatcherDeps {
  db: Database;
  /** Whose pushes these are. */
  owner: PushRecipient;
  logger: Logger;
  pusher: Pusher;
  attempts: PushAttempts;
  availability: Availability;
  onResult?: ((result: string, count: number) => void) | undefined;
}

/** Rows come due without a word too; and words get lost. */
const LOOK_EVERY_MS = 1_000;
/** What comes due within this time of the last look is claimed together, in one statement. */
const GATHER_MS = 20;
const BATCH = 500;
/** Pushes that this process has claimed and not yet written off. */
const MOST_UNDER_WAY = 2_000;
/** Not worth a statement, while others are on their way. */
const LEAST_ROOM = 100;
/** Sent to see whether the push service is back. */
const SCOUTS = 10;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Claims devices, or users, whose push is due and has them pushed, for as long as it runs. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #writer: OutcomeWriter;
  readonly #warn: Warner;
  readonly #wakeUp = new WakeUp();
  readonly #stopping = new AbortController();
  #underWay = 0;
  /** The last look left rows behind, for want of room. */
  #hasBacklog = false;
  #failures = 0;
  #lookedAt = 0;
  #isTold = false;
  #running: Promise<void> = Promise.resolve();
  #onIdle: () => void = () => undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#warn = createWarner(deps.logger);
    this.#writer = new OutcomeWriter({
      ...{ db: deps.db, owner: deps.owner, logger: deps.logger, onResult: deps.onResult },
      onWritten: (count, isDue) => this.#release(count, isDue),
    });
  }

  start(): void {
    this.#running = this.#run();
  }

  wake(): void {
    this.#wakeUp.call();
  }

  /** Claims nothing more; resolves when nothing is under way any more, at the latest after `ms`. */
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
      const limit = this.#room();
      this.#hasBacklog = limit === 0 || (await this.#look(limit));
      if (limit > 0 && this.#hasBacklog) continue;
      const { pauseMs } = this.#deps.availability;
      await this.#wakeUp.sleep(Math.min(pauseMs || LOOK_EVERY_MS, LOOK_EVERY_MS));
      await this.#gather();
    }
  }

  async #gather(): Promise<void> {
    const rest = this.#lookedAt + GATHER_MS - performance.now();
    const { signal } = this.#stopping;
    if (rest > 0) await sleep(rest, undefined, { signal }).catch(() => undefined);
    this.#lookedAt = performance.now();
  }

  /** How many to claim now. */
  #room(): number {
    const { isAway, pauseMs } = this.#deps.availability;
    if (pauseMs > 0) return 0;
    if (isAway) return this.#underWay === 0 ? SCOUTS : 0;
    const room = MOST_UNDER_WAY - this.#underWay;
    return room < LEAST_ROOM ? 0 : Math.min(room, BATCH);
  }

  /** Claims what is due, and sees to it; true when there may be more. */
  async #look(limit: number): Promise<boolean> {
    const { db, owner } = this.#deps;
    try {
      const claims = await claimPushes(db, owner, limit);
      this.#recovered();
      if (claims.length > 0) void this.#push(claims);
      return claims.length === limit;
    } catch (error) {
      await this.#rest(error);
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
      this.#warn({ err: error }, 'devices to be pushed could not be read; they come again');
      this.#release(claims.length, false);
    }
  }

  #release(count: number, isDue: boolean): void {
    this.#underWay -= count;
    if (isDue || this.#hasBacklog) this.wake();
    if (this.#underWay === 0) this.#onIdle();
  }

  #recovered(): void {
    if (this.#isTold) this.#deps.logger.info('pushes that are due are read again');
    this.#isTold = false;
    this.#failures = 0;
  }

  /** The database is away: one line, and a pause that grows. */
  async #rest(error: unknown): Promise<void> {
    const message = 'pushes that are due could not be read';
    if (this.#failures === 0) this.#isTold = this.#warn({ err: error }, message);
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS);
    this.#failures += 1;
    await sleep(pause, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}
