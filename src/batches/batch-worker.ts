import { setTimeout as delay } from 'node:timers/promises';
import {
  type EndedBatch,
  findCancelled,
  findWork,
  foldChanges,
} from '../db/batches/batch-counts.js';
import { cancelCommands } from '../db/batches/batch-repository.js';
import { claimSlice, type Slice } from '../db/batches/expansion.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { Repeater } from '../jobs/repeater.js';
import type { Logger } from '../logger.js';
import type { BatchExpansion } from './batch-expansion.js';

export interface BatchWorkerDeps {
  db: Database;
  logger: Logger;
  expansion: Pick<BatchExpansion, 'expand'>;
}

/** Between two looks for work, each of which reads one page of three indexes. */
const INTERVAL_MS = 500;
/** Changes of status in one transaction. */
const FOLDED = 20_000;
/** Commands that are cancelled in one transaction. */
const CANCELLED = 2_000;
/** Between two slices, for the devices. */
const PAUSE_MS = 2;
/** A slice that could not be queued is tried again after that. */
const RETRY_MS = 30_000;

/**
 * Carries out batches slice by slice, and counts what became of their commands. All work is rows: a process
 * that dies loses none and leaves none half done. Several processes may each have a worker.
 */
export class BatchWorker {
  readonly #deps: BatchWorkerDeps;
  readonly #repeater: Repeater;
  /** Slices that have failed, and when they are tried again. */
  readonly #failed = new Map<string, number>();
  #isStopping = false;

  constructor(deps: BatchWorkerDeps) {
    this.#deps = deps;
    this.#repeater = new Repeater(() => this.run(), {
      logger: deps.logger,
      intervalMs: INTERVAL_MS,
      failureMessage: 'command batches could not be carried out; tried again',
      recoveryMessage: 'command batches are carried out again',
    });
  }

  async start(): Promise<void> {
    this.#isStopping = false;
    await this.#repeater.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#repeater.stop();
  }

  /** Soon, instead of after the interval. */
  wake(): void {
    this.#repeater.hurry();
  }

  /** Until there is nothing to do. */
  async run(): Promise<void> {
    const work = await findWork(this.#deps.db);
    if (work.slices) await this.#expandAll();
    if (work.open) await this.#cancelAll();
    if (work.slices || work.changes || work.open) await this.#fold();
  }

  async #expandAll(): Promise<void> {
    while (!this.#isStopping && (await this.#expandNext())) await delay(PAUSE_MS);
  }

  /** Whether there was a slice. */
  async #expandNext(): Promise<boolean> {
    const { db, expansion, logger } = this.#deps;
    let claimed: Slice | undefined;
    try {
      return await inTransaction(db, async (trx) => {
        claimed = await claimSlice(trx, this.#waiting());
        if (claimed !== undefined) await expansion.expand(trx, claimed);
        return claimed !== undefined;
      });
    } catch (err) {
      if (claimed === undefined) throw err;
      const { batch, number } = claimed;
      this.#failed.set(`${batch.id}/${number}`, Date.now() + RETRY_MS);
      const text = 'commands of a batch could not be queued; they are tried again';
      logger.error({ err, batchId: batch.id, slice: number }, text);
      return true;
    }
  }

  /** The slices that have failed lately. */
  #waiting(): string[] {
    const now = Date.now();
    for (const [slice, at] of this.#failed) if (at <= now) this.#failed.delete(slice);
    return [...this.#failed.keys()];
  }

  async #cancelAll(): Promise<void> {
    const { db } = this.#deps;
    const batches = await inTransaction(db, findCancelled);
    for (const id of batches) await this.#cancel(id);
  }

  /** Commands that are locked meanwhile are cancelled by the next run. */
  async #cancel(batch: number): Promise<void> {
    const limit = CANCELLED;
    let page = { count: limit, last: 0 };
    while (!this.#isStopping && page.count === limit) {
      const after = page.last;
      page = await inTransaction(this.#deps.db, (trx) =>
        cancelCommands(trx, batch, { after, limit }),
      );
      await delay(PAUSE_MS);
    }
  }

  async #fold(): Promise<void> {
    const { db, logger } = this.#deps;
    for (;;) {
      const { count, ended } = await inTransaction(db, (trx) => foldChanges(trx, FOLDED));
      for (const one of ended) logEnd(logger, one);
      if (this.#isStopping || count < FOLDED) return;
    }
  }
}

function logEnd(logger: Logger, { id, state, counts }: EndedBatch): void {
  logger.info({ batchId: id, ...counts }, `command batch ${id} is ${state}`);
}
