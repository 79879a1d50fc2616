import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { blockTopic, mayTryTopic, type Refusal, unblockTopic } from '../db/push/push-topics.js';
import type { JobQueue } from '../jobs/job-queue.js';
import type { Logger } from '../logger.js';
import { rearmTopics } from './rearm-task.js';

export interface BlockedTopicsDeps {
  db: Database;
  jobs: JobQueue;
  logger: Logger;
}

interface Block {
  /** By the clock of this process. */
  retryAt: number;
}

/**
 * Topics whose certificate the push service refuses. Their devices wait; from time to time one process
 * sends a single push as a probe, and the first that is accepted unblocks the topic.
 */
export class BlockedTopics {
  /** Per process: of a thousand pushes refused at once, only the first writes to the database. */
  readonly #known = new Map<string, Promise<Block>>();

  constructor(private readonly deps: BlockedTopicsDeps) {}

  /** Whether this process knows that the topic is blocked. */
  isKnown(topic: string): boolean {
    return this.#known.has(topic);
  }

  /** The certificate was refused. Returns the milliseconds until the topic is tried again. */
  async refuse(refusal: Refusal): Promise<number> {
    const { topic, isProbe } = refusal;
    const known = isProbe ? undefined : this.#known.get(topic);
    const block = await (known ?? this.#remember(topic, this.#block(refusal)));
    const retryIn = block.retryAt - Date.now();
    if (retryIn <= 0) this.forget(topic);
    return Math.max(0, retryIn);
  }

  /** True for one process at a time, once the next probe is due. */
  mayTry(topic: string): Promise<boolean> {
    return mayTryTopic(this.deps.db, topic);
  }

  /** The certificate was accepted with a probe: unblocks the topic. */
  async accept(topic: string): Promise<void> {
    const { db, jobs, logger } = this.deps;
    this.forget(topic);
    const wasBlocked = await inTransaction(db, async (trx) => {
      const isBlocked = await unblockTopic(trx, topic);
      if (isBlocked) await rearmTopics(jobs, trx, [topic]);
      return isBlocked;
    });
    if (wasBlocked) logger.info({ topic }, 'the push certificate is accepted again');
  }

  /** Drops what this process remembers of one topic, or of all: it may be outdated. */
  forget(topic?: string): void {
    if (topic === undefined) this.#known.clear();
    else this.#known.delete(topic);
  }

  #remember(topic: string, block: Promise<Block>): Promise<Block> {
    this.#known.set(topic, block);
    block.catch(() => this.forget(topic));
    return block;
  }

  async #block(refusal: Refusal): Promise<Block> {
    const { db, logger } = this.deps;
    const { topic, reason } = refusal;
    const { isNew, retryIn } = await blockTopic(db, refusal);
    if (isNew) {
      logger.error(
        { topic, reason },
        'the push service refuses the push certificate, so no device of its topic can be woken: ' +
          'renew it with the same Apple account and add it with POST /api/v1/push_certificates',
      );
    }
    return { retryAt: Date.now() + retryIn };
  }
}
