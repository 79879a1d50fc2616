import { brokenPromises, recover, startOver, surplusPushes } from './checks.js';
import { enqueue } from './enqueue.js';
import type { ScenarioResult } from './scenario.js';
import type { World } from './world.js';

/** Two processes push side by side: each device once, since each was asked for once. */
export async function sharedWork(world: World): Promise<ScenarioResult> {
  const { devices, standIn } = world;
  await startOver(world);
  const workers = await Promise.all([
    world.start({ role: 'worker' }),
    world.start({ role: 'worker' }),
  ]);
  const startedAt = performance.now();
  const enqueued = await enqueue(world.api, devices);
  const enqueueSeconds = (performance.now() - startedAt) / 1000;
  await recover(world, { skipsWaiting: false });
  const seconds = (performance.now() - startedAt) / 1000;
  const broken = await brokenPromises(world, enqueued);
  const surplus = await surplusPushes(world);
  if (surplus !== 0) broken.push(`${surplus} pushes more than were asked for`);
  if (enqueued.repeated > 0) broken.push(`${enqueued.repeated} commands were not taken at once`);
  for (const worker of workers) await worker.stop();
  const figures = { pushes: (await standIn.tally()).accepted, surplus, enqueueSeconds, seconds };
  return { name: 'two processes share the work', broken, figures };
}
