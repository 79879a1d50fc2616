import type { Task } from '../../../src/jobs/task.js';

/** One run of a scheduled task, as the queue calls it. */
export async function runTask(task: Task<undefined>, signal?: AbortSignal): Promise<void> {
  const context = { jobId: 1, attempt: 1, signal: signal ?? new AbortController().signal };
  await task.run(task.parse({}), context);
}
