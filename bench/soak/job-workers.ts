import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/db/connection/database.js';
import type { Task } from '../../src/jobs/task.js';
import { type CallableChild, startCallableChild } from '../push/child-calls.js';

export interface JobWorkerCalls {
  stop(): Promise<void>;
}

export interface JobWorker {
  /** As a crash does. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface JobWorkerOptions {
  databaseUrl: string;
  silentMs: number;
  /** How long each job takes. */
  taskMs: number;
}

/** Processes with nothing but the job queue. */
export function startJobWorkers(count: number, options: JobWorkerOptions): Promise<JobWorker[]> {
  return Promise.all(Array.from({ length: count }, () => startOne(options)));
}

interface Numbered {
  n: number;
}

export const RUNS_TABLE = `
create table if not exists soak_runs (
  n integer not null,
  pid integer not null,
  began_at timestamptz not null,
  ended_at timestamptz not null default clock_timestamp()
)`;

/** Notes each run of a job once it is over; a process that is killed meanwhile notes nothing. */
export function createCountingTask(db: Pick<Database, 'background'>, ms: number): Task<Numbered> {
  return {
    name: 'soak.count',
    parse,
    async run({ n }) {
      const beganAt = new Date();
      await sleep(ms);
      await db.background.query('insert into soak_runs (n, pid, began_at) values ($1, $2, $3)', [
        n,
        process.pid,
        beganAt,
      ]);
    },
  };
}

async function startOne(options: JobWorkerOptions): Promise<JobWorker> {
  const { databaseUrl, silentMs, taskMs } = options;
  const file = join(__dirname, 'job-worker-child.ts');
  const args = [databaseUrl, String(silentMs), String(taskMs)];
  const child: CallableChild<JobWorkerCalls> = await startCallableChild(file, args);
  const stop = async () => {
    await child.call('stop', undefined);
    await child.kill('SIGTERM');
  };
  return { kill: () => child.kill('SIGKILL'), stop };
}

function parse(payload: unknown): Numbered {
  const { n } = payload as Partial<Numbered>;
  if (typeof n !== 'number') throw new Error('not a number');
  return { n };
}
