import type { JobContext, Task } from '../task.js';

export interface ScheduledTask {
  name: string;
  /** Crontab (UTC). */
  schedule: string;
  run(context: JobContext): Promise<void>;
}

/** A task that finds out by itself what there is to do. */
export function scheduledTask({ name, schedule, run }: ScheduledTask): Task<undefined> {
  return { name, schedule, parse: () => undefined, run: (_payload, context) => run(context) };
}
