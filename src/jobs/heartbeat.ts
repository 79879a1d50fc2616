import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Database } from '../db/connection/database.js';
import {
  forgetOldProcesses,
  freeJobsOfSilent,
  freeUnclaimedJobs,
  type PushTrouble,
  recordBeat,
  removeProcess,
  type ServerProcess,
} from '../db/processes/process-repository.js';
import type { Logger } from '../logger.js';
import { createRepeater } from './repeater.js';

export interface Heartbeat {
  /** Of this run of the program. */
  readonly processId: string;
  /** From now on jobs locked by this pool of workers are this process's, and those of no other. */
  claimPool(pool: string | null): void;
  /** What it tells has changed: the next beat comes at once. */
  hurry(): void;
  /** Resolves after the first beat, also when it failed: it is repeated. */
  start(): Promise<void>;
  /** Says goodbye. Call it when no jobs run here any more. */
  stop(): Promise<void>;
}

export interface HeartbeatDeps {
  db: Database;
  role: ServerProcess['role'];
  version: string;
  logger: Logger;
  /** What keeps this process from pushing now. */
  pushTrouble?: () => PushTrouble | null;
  intervalMs?: number;
  /** A process not heard of for so long is taken for dead. */
  silentMs?: number;
}

/** How often silent processes are looked for, which is one small query. */
const LOOK_MS = 1_000;

/**
 * Keeps the row of this process fresh and, where jobs run, frees the jobs of processes whose row is
 * not. One that was only frozen goes on as if nothing had happened; its jobs then run twice.
 */
export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { db, role, version, logger, intervalMs = 5_000, silentMs = 30_000 } = deps;
  const { pushTrouble = () => null } = deps;
  const processId = randomUUID();
  let workerPool: string | null = null;
  const beat = () => {
    const self = { id: processId, role, hostname: hostname(), pid: process.pid, version };
    return recordBeat(db, { ...self, workerPool, pushTrouble: pushTrouble() });
  };
  const pulse = createRepeater(beat, {
    ...{ logger, intervalMs },
    complaint: 'the heartbeat of this process could not be written',
    relief: 'the heartbeat of this process is written again',
  });
  const runsJobs = role !== 'web';
  const watches = runsJobs ? watchOthers({ db, logger, silentMs }) : [];
  return {
    processId,
    claimPool: (pool) => {
      workerPool = pool;
      pulse.hurry();
    },
    hurry: () => pulse.hurry(),
    start: async () => {
      await pulse.start();
      for (const watch of watches) await watch.start();
    },
    stop: async () => {
      await Promise.all([pulse.stop(), ...watches.map((watch) => watch.stop())]);
      await removeProcess(db, processId).catch((error: unknown) => {
        logger.warn({ err: error }, 'the row of this process could not be removed');
      });
    },
  };
}

function watchOthers({ db, logger, silentMs }: { db: Database; logger: Logger; silentMs: number }) {
  const words = {
    logger,
    complaint: 'the jobs of silent processes could not be looked for',
    relief: 'the jobs of silent processes are looked for again',
  };
  const freeSilent = async () => {
    for (const { hostname, pid, jobs } of await freeJobsOfSilent(db, silentMs)) {
      // Every line of the log has a pid: that of the process that writes it.
      const about = { silentHost: hostname, silentPid: pid, jobs };
      logger.warn(about, 'a process has fallen silent; its jobs run elsewhere');
    }
  };
  const freeUnclaimed = async () => {
    await forgetOldProcesses(db);
    const jobs = await freeUnclaimedJobs(db, silentMs);
    if (jobs > 0) logger.warn({ jobs }, 'jobs of workers unknown to every process run again');
  };
  return [
    createRepeater(freeSilent, { ...words, intervalMs: Math.min(LOOK_MS, silentMs) }),
    createRepeater(freeUnclaimed, { ...words, intervalMs: silentMs }),
  ];
}
