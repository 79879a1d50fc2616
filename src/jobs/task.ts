import type { Transaction } from '../db/connection/unit-of-work.js';

/** What a task is told of the job that it runs for. */
export interface JobContext {
  jobId: number;
  /** 1 for the first attempt. */
  attempt: number;
  /**
   * Aborted when the process is told to stop or has lost the database: end soon, by throwing if need
   * be; the job runs again.
   */
  signal: AbortSignal;
}

/**
 * Work that happens later, at least once: a process may die after the work and before it is noted,
 * so whatever a task does must be harmless when done twice. A task that throws runs again later.
 */
export interface Task<Payload = unknown> {
  /** Stable: it stands in the rows of waiting jobs. `area.verb`, like `push.rearm`. */
  readonly name: string;
  /** Makes sense of what lies in the row, which an older version may have written; throws if it can't. */
  readonly parse: (payload: unknown) => Payload;
  /**
   * Attempts before the job counts as dead; 25 unless told. The pauses between them grow from 3
   * seconds to 6 hours. An attempt in which the process dies counts, so 1 means: at most once.
   */
  readonly maxAttempts?: number;
  /** Crontab (UTC): runs once for all processes at each such minute, with the payload `{}`. */
  readonly schedule?: string;
  run(payload: Payload, context: JobContext): Promise<void>;
}

export interface JobOptions {
  runAt?: Date;
  /** At most one waiting job of a key: a later one takes its place. */
  key?: string;
}

/** Where jobs enter: in the transaction that causes them, so that both happen or none. */
export interface JobQueue {
  add(
    trx: Transaction,
    task: { readonly name: string; readonly maxAttempts?: number },
    payload: object,
    options?: JobOptions,
  ): Promise<void>;
  /** One job for each of the payloads, in one statement. */
  addMany(
    trx: Transaction,
    task: { readonly name: string; readonly maxAttempts?: number },
    payloads: object[],
    options?: Pick<JobOptions, 'runAt'>,
  ): Promise<void>;
}
