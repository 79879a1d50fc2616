import { join } from 'node:path';
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

/** Processes with nothing but the job queue. */
export function startJobWorkers(count: number, options: JobWorkerOptions): Promise<JobWorker[]> {
  return Promise.all(Array.from({ length: count }, () => startOne(options)));
}
