import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/connection/database.js';
import { CLAIM_MS, finishPushes } from '../db/push/push-queue.js';
import type { PushRecipient } from '../db/push/push-recipients.js';
import { notePushResults, type PushResult } from '../db/push/push-results.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import type { PushOutcome } from './outcome.js';

export interface OutcomeWriterDeps {
  db: Database;
  owner: PushRecipient;
  logger: Logger;
  /** After each write; `isDue`: some of the devices are to be pushed again at once. */
  onWritten: (count: number, isDue: boolean) => void;
  /** For the metrics: how many pushes ended so. */
  onResult?: ((result: string, count: number) => void) | undefined;
}

const MOST_AT_ONCE = 500;
const MOST_WRITES = 2;
/** How long an outcome waits for others to be written with. */
const GATHER_MS = 20;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Writes outcomes in batches: what comes while statements are under way goes out together with the
 * next one. A write that fails is repeated while the claims last; after that others do the work.
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
    // Whoever was put off may be wanted sooner by now: the claim must not stand in the way.
    this.#isUrgent ||= !outcome.end.isSettled || this.#waiting.length >= MOST_AT_ONCE;
    this.#schedule();
  }

  /** From now on nothing is repeated, and nothing waits for more. */
  close(): void {
    this.#isClosing = true;
    this.#isUrgent = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#writes >= MOST_WRITES || this.#waiting.length === 0) return;
    if (this.#isUrgent) this.#immediate ??= setImmediate(() => this.#begin());
    else this.#timer ??= setTimeout(() => this.#begin(), GATHER_MS);
  }

  #begin(): void {
    clearTimeout(this.#timer);
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    this.#isUrgent = this.#isClosing;
    if (this.#writes < MOST_WRITES) void this.#writeNext();
    this.#schedule();
  }

  async #writeNext(): Promise<void> {
    const batch = this.#waiting.splice(0, MOST_AT_ONCE);
    if (batch.length === 0) return;
    this.#writes += 1;
    const isDue = await this.#write(batch);
    this.#writes -= 1;
    this.#deps.onWritten(batch.length, isDue);
    this.#schedule();
  }

  async #write(batch: PushOutcome[]): Promise<boolean> {
    const { db, owner } = this.#deps;
    const results = batch.flatMap(({ result }) => result ?? []);
    this.#count(results);
    const deadline = Date.now() + CLAIM_MS;
    const mute = await this.#repeatedly(deadline, () => notePushResults(db, owner, results));
    const ends = batch.map(({ end, result }) => {
      const isOver = isJudged(result) && mute?.has(end.ownerId);
      return isOver ? { ...end, dueIn: null } : end;
    });
    return (await this.#repeatedly(deadline, () => finishPushes(db, owner, ends))) ?? false;
  }

  async #repeatedly<T>(deadline: number, work: () => Promise<T>): Promise<T | undefined> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        this.#warn({ err: error }, 'how pushes ended could not be written');
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

/** The push service has said that the token is of no use. */
function isJudged(result: PushResult | null): boolean {
  return result?.pushState === 'unregistered' || result?.pushState === 'bad_token';
}
