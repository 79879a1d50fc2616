import { setTimeout as sleep } from 'node:timers/promises';
import { brokenPromises, recover, startOver, surplusPushes } from './checks.js';
import { enqueue, inHalves, sumOf } from './enqueue.js';
import type { ScenarioResult, Size } from './scenario.js';
import { untilPushed } from './until.js';
import type { World } from './world.js';

const SHARE = 0.3;

/** The push service goes away in the middle, for a while, and comes back at the same address. */
export async function pushOutage(world: World, size: Size): Promise<ScenarioResult> {
  const { devices, standIn } = world;
  await startOver(world);
  await standIn.delayAnswers(size.answerDelayMs);
  const worker = await world.start({ role: 'worker' });
  const [first, second] = inHalves(devices);
  const before = enqueue(world.api, first);
  await untilPushed(world, SHARE);
  await standIn.goDown();
  const pushedBefore = (await standIn.tally()).told;
  const enqueued = await sumOf([before, enqueue(world.api, second)]);
  await sleep(size.outageMs);
  const pushedMeanwhile = (await standIn.tally()).told - pushedBefore;
  await standIn.comeBack();
  const recoverySeconds = await recover(world, size);
  const surplus = await surplusPushes(world);
  const broken = await brokenPromises(world, enqueued);
  await standIn.delayAnswers(0);
  await worker.stop();
  const figures = { pushedBefore, pushedMeanwhile, surplus, recoverySeconds };
  return { name: `the push service is away for ${size.outageMs / 1000} s`, broken, figures };
}
