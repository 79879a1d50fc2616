import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Database } from '../db/connection/database.js';
import {
  forgetOldProcesses,
  freeJobsOfSilent,
  freeUnclaimedJobs,
  type PushFailure,
  recordBeat,
  removeProcess,
  type ServerProcess,
  type SharedFeatures,
} from '../db/processes/process-repository.js';
import type { Logger } from '../logger.js';
import { Repeater } from './repeater.js';

export interface HeartbeatDeps {
  db: Database;
  role: ServerProcess['role'];
  version: string;
  logger: Logger;
  /** Why this process cannot push now. */
  pushFailure?: (() => PushFailure | null) | undefined;
  /** Called after each heartbeat. */
  onBeat?: ((beat: SharedFeatures) => void) | undefined;
  intervalMs?: number | undefined;
  /** A process without a heartbeat for so long counts as dead. */
  silentMs?: number | undefined;
}

/** How often silent processes are looked for, which is one small query. */
const LOOK_MS = 1_000;

/**
 * Keeps the row of this process fresh and, where jobs run, frees the jobs of processes whose row is
 * stale. A process that was only frozen continues afterwards; its jobs then run twice.
 */
export class Heartbeat {
  /** A new one for each run of a process. */
  readonly processId = randomUUID();
  readonly #deps: HeartbeatDeps;
  readonly #beats: Repeater;
  readonly #watches: Repeater[];
  #workerPool: string | null = null;

  constructor(deps: HeartbeatDeps) {
    const { db, role, logger, intervalMs = 5_000, silentMs = 30_000 } = deps;
    this.#deps = deps;
    this.#beats = new Repeater(() => this.#beat(), {
      logger,
      intervalMs,
      failureMessage: 'the heartbeat of this process could not be written',
      recoveryMessage: 'the heartbeat of this process is written again',
    });
    this.#watches = role === 'web' ? [] : watchOthers({ db, logger, silentMs });
  }

  /** From now on the jobs locked by this pool of workers are this process's alone. */
  claimPool(pool: string | null): void {
    this.#workerPool = pool;
    this.#beats.hurry();
  }

  /** Its contents have changed: writes the next heartbeat at once. */
  hurry(): void {
    this.#beats.hurry();
  }

  /** Resolves after the first heartbeat, also when it failed: it is repeated. */
  async start(): Promise<void> {
    await this.#beats.start();
    for (const watch of this.#watches) await watch.start();
  }

  /** Removes the row of this process. Call it when no jobs run here any more. */
  async stop(): Promise<void> {
    const { db, logger } = this.#deps;
    await Promise.all([this.#beats.stop(), ...this.#watches.map((watch) => watch.stop())]);
    await removeProcess(db, this.processId).catch((error: unknown) => {
      logger.warn({ err: error }, 'the row of this process could not be removed');
    });
  }

  async #beat(): Promise<void> {
    const { db, role, version, pushFailure, onBeat } = this.#deps;
    const features = await recordBeat(db, {
      id: this.processId,
      role,
      hostname: hostname(),
      pid: process.pid,
      version,
      workerPool: this.#workerPool,
      pushFailure: pushFailure?.() ?? null,
    });
    onBeat?.(features);
  }
}

function watchOthers({ db, logger, silentMs }: { db: Database; logger: Logger; silentMs: number }) {
  const messages = {
    failureMessage: 'the jobs of silent processes could not be looked for',
    recoveryMessage: 'the jobs of silent processes are looked for again',
  };
  const freeSilent = async () => {
    for (const { hostname, pid, jobs } of await freeJobsOfSilent(db, silentMs)) {
      // Not `pid`: every log line has the pid of the process that writes it.
      const about = { silentHost: hostname, silentPid: pid, jobs };
      logger.warn(about, 'a process sends no heartbeat; its jobs run elsewhere');
    }
  };
  const freeUnclaimed = async () => {
    await forgetOldProcesses(db);
    const jobs = await freeUnclaimedJobs(db, silentMs);
    if (jobs > 0) logger.warn({ jobs }, 'jobs of workers unknown to every process run again');
  };
  return [
    new Repeater(freeSilent, { logger, intervalMs: Math.min(LOOK_MS, silentMs), ...messages }),
    new Repeater(freeUnclaimed, { logger, intervalMs: silentMs, ...messages }),
  ];
}
