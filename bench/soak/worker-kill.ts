import { brokenPromises, recover, startOver, surplusPushes } from './checks.js';
import { enqueue, inHalves, sumOf } from './enqueue.js';
import type { ScenarioResult, Size } from './scenario.js';
import { untilPushed } from './until.js';
import type { World } from './world.js';

/** At which share of the pushes the process is killed. */
const SHARE = 0.4;

/** kill -9 of one of two processes that push, in the middle of it. */
export async function workerKill(world: World, size: Size): Promise<ScenarioResult> {
  const { devices, standIn } = world;
  await startOver(world);
  await standIn.delayAnswers(size.answerDelayMs);
  const [victim, survivor] = await Promise.all([
    world.start({ role: 'worker' }),
    world.start({ role: 'worker' }),
  ]);
  const [first, second] = inHalves(devices);
  const before = enqueue(world.api, first);
  await untilPushed(world, SHARE);
  const after = enqueue(world.api, second);
  await victim.kill();
  const pushedAtKill = (await standIn.tally()).told;
  const enqueued = await sumOf([before, after]);
  const recoverySeconds = await recover(world, size);
  const surplus = await surplusPushes(world);
  const broken = await brokenPromises(world, enqueued);
  await standIn.delayAnswers(0);
  await survivor.stop();
  const figures = { pushedAtKill, surplus, recoverySeconds };
  return { name: 'kill -9 of a process that pushes', broken, figures };
}
