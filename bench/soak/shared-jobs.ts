import { addJobs, brokenJobPromises, countJobs, forgetRuns } from './count-jobs.js';
import { startJobWorkers } from './job-workers.js';
import { RECOVERY_MS, type ScenarioResult, type Size } from './scenario.js';
import { until } from './until.js';
import type { World } from './world.js';

const TASK_MS = 1;

/** Two processes run jobs side by side: each job once. */
export async function sharedJobs(world: World, { jobs, silentMs }: Size): Promise<ScenarioResult> {
  const { databaseUrl } = world;
  await forgetRuns(world);
  const workers = await startJobWorkers(2, { databaseUrl, silentMs, taskMs: TASK_MS });
  const startedAt = performance.now();
  await addJobs(world, jobs);
  const isOver = async () => (await countJobs(world)).left === 0;
  await until(isOver, { what: 'all jobs', ms: RECOVERY_MS, everyMs: 50 }).catch(() => undefined);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const worker of workers) await worker.stop();
  const counts = await countJobs(world);
  const broken = brokenJobPromises(counts, jobs);
  const again = counts.runs - counts.done;
  if (again > 0) broken.push(`${again} jobs ran twice`);
  return { name: 'two processes share the jobs', broken, figures: { runs: counts.runs, seconds } };
}
