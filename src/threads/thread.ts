// The program of a thread of the pool: runs one task after another.
import { parentPort } from 'node:worker_threads';
import { type FromThread, TASKS, type ToThread } from './tasks.js';
import { writeError } from './thread-values.js';

parentPort?.on('message', ({ name, input }: ToThread) => {
  const started = performance.now();
  const time = () => performance.now() - started;
  const work = TASKS[name] as (input: unknown) => ReturnType<(typeof TASKS)[typeof name]>;
  try {
    const { output, transfer } = work(input);
    parentPort?.postMessage({ output, ms: time() } satisfies FromThread, transfer);
  } catch (error) {
    parentPort?.postMessage({ error: writeError(error), ms: time() } satisfies FromThread);
  }
});
