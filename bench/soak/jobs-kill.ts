import { addJobs, brokenJobPromises, countJobs, forgetRuns } from './count-jobs.js';
import { startJobWorkers } from './job-workers.js';
import { RECOVERY_MS, type ScenarioResult, type Size } from './scenario.js';
import { until } from './until.js';
import type { World } from './world.js';

const SHARE = 0.3;
const TASK_MS = 20;

/** kill -9 of one of two processes that run jobs, in the middle of it. */
export async function jobsKill(world: World, size: Size): Promise<ScenarioResult> {
  const { databaseUrl } = world;
  const { jobs, silentMs } = size;
  await forgetRuns(world);
  const workers = await startJobWorkers(2, { databaseUrl, silentMs, taskMs: TASK_MS });
  const adding = addJobs(world, jobs);
  const done = async () => (await countJobs(world)).done;
  await until(async () => (await done()) >= jobs * SHARE, { what: 'the first jobs', ms: 60_000 });
  const [victim, survivor] = workers;
  await victim?.kill();
  const doneAtKill = await done();
  const killedAt = performance.now();
  await adding;
  const isOver = async () => (await countJobs(world)).left === 0;
  await until(isOver, { what: 'all jobs', ms: RECOVERY_MS, everyMs: 50 }).catch(() => undefined);
  const secondsAfterKill = (performance.now() - killedAt) / 1000;
  await survivor?.stop();
  const counts = await countJobs(world);
  return {
    name: 'kill -9 of a process that runs jobs',
    broken: brokenJobPromises(counts, jobs),
    figures: { doneAtKill, runs: counts.runs, again: counts.runs - counts.done, secondsAfterKill },
  };
}
