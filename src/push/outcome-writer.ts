import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/connection/database.js';
import { CLAIM_MS, finishPushes } from '../db/push/push-queue.js';
import type { PushRecipient } from '../db/push/push-recipients.js';
import { type PushResult, storePushResults } from '../db/push/push-results.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import type { PushOutcome } from './outcome.js';

export interface OutcomeWriterDeps {
  db: Database;
  recipient: PushRecipient;
  logger: Logger;
  /** After each write; `isDue`: some of the devices are due again at once. */
  onStored: (count: number, isDue: boolean) => void;
  /** For the metrics: how many pushes had this result. */
  onResult?: ((result: string, count: number) => void) | undefined;
}

const BATCH = 500;
const MAX_WRITES = 2;
/** How long an outcome waits to be stored together with others. */
const GATHER_MS = 20;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;

/**
 * Stores outcomes in batches: those that arrive while statements are under way are stored together by
 * the next one. A write that fails is repeated while the claims last; then other processes claim the
 * rows.
 */
export class OutcomeWriter {
  readonly #deps: OutcomeWriterDeps;
  readonly #warn: Warner;
  #waiting: PushOutcome[] = [];
  #writes = 0;
  #isUrgent = false;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #isClosing = false;

  constructor(deps: OutcomeWriterDeps) {
    this.#deps = deps;
    this.#warn = createWarner(deps.logger);
  }

  add(outcome: PushOutcome): void {
    this.#waiting.push(outcome);
    // A postponed device may have been requested again: end its claim at once.
    this.#isUrgent ||= !outcome.end.coversEarlierRequests || this.#waiting.length >= BATCH;
    this.#schedule();
  }

  /** From now on failed writes are not repeated, and outcomes are stored at once. */
  close(): void {
    this.#isClosing = true;
    this.#isUrgent = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#writes >= MAX_WRITES || this.#waiting.length === 0) return;
    if (this.#isUrgent) this.#immediate ??= setImmediate(() => this.#begin());
    else this.#timer ??= setTimeout(() => this.#begin(), GATHER_MS);
  }

  #begin(): void {
    clearTimeout(this.#timer);
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    this.#isUrgent = this.#isClosing;
    if (this.#writes < MAX_WRITES) void this.#writeNext();
    this.#schedule();
  }

  async #writeNext(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH);
    if (batch.length === 0) return;
    this.#writes += 1;
    const isDue = await this.#write(batch);
    this.#writes -= 1;
    this.#deps.onStored(batch.length, isDue);
    this.#schedule();
  }

  async #write(batch: PushOutcome[]): Promise<boolean> {
    const { db, recipient } = this.#deps;
    const results = batch.flatMap(({ result }) => result ?? []);
    this.#count(results);
    const deadline = Date.now() + CLAIM_MS;
    const storeResults = () => storePushResults(db, recipient, results);
    const unpushable = await this.#repeatUntil(deadline, storeResults);
    const ends = batch.map(({ end, result }) => {
      const isOver = isTokenRefused(result) && unpushable?.has(end.recipientId);
      return isOver ? { ...end, dueIn: null } : end;
    });
    return (await this.#repeatUntil(deadline, () => finishPushes(db, recipient, ends))) ?? false;
  }

  async #repeatUntil<T>(deadline: number, work: () => Promise<T>): Promise<T | undefined> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        this.#warn({ err: error }, 'push outcomes could not be saved');
        if (this.#isClosing || Date.now() + pause > deadline) return undefined;
        await sleep(pause);
      }
    }
  }

  #count(results: PushResult[]): void {
    const { onResult } = this.#deps;
    if (onResult === undefined) return;
    const counts = new Map<string, number>();
    for (const { result } of results) counts.set(result, (counts.get(result) ?? 0) + 1);
    for (const [result, count] of counts) onResult(result, count);
  }
}

/** Apple refuses the device's push token. */
function isTokenRefused(result: PushResult | null): boolean {
  return result?.pushState === 'unregistered' || result?.pushState === 'bad_token';
}
