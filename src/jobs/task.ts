/** The job that a task runs for. */
export interface JobContext {
  jobId: number;
  /** 1 for the first attempt. */
  attempt: number;
  /**
   * Aborted when the process stops or has lost the database: end soon, by throwing if necessary; the
   * job runs again.
   */
  signal: AbortSignal;
}

/**
 * Work that happens later, at least once: a process may die after the work and before that is stored,
 * so a task must be idempotent. A task that throws runs again later.
 */
export interface Task<Payload = unknown> {
  /** Stable, since it is stored with waiting jobs. `area.verb`, like `push.rearm`. */
  readonly name: string;
  /** Parses the stored payload, which an older version may have written; throws if it is invalid. */
  readonly parse: (payload: unknown) => Payload;
  /**
   * Attempts before the job counts as dead; 25 by default. The pauses between them grow from 3
   * seconds to 6 hours. An attempt in which the process dies counts, so 1 means: at most once.
   */
  readonly maxAttempts?: number | undefined;
  /** Crontab (UTC): runs once for all processes at each such minute, with the payload `{}`. */
  readonly schedule?: string | undefined;
  run(payload: Payload, context: JobContext): Promise<void>;
}
