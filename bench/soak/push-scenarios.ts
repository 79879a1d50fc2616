import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { brokenPromises, recover, startOver, surplusPushes } from './checks.js';
import { enqueue, inHalves, sumOf } from './enqueue.js';
import type { Fixture } from './fixture.js';
import { type ScenarioResult, type Size, until, untilPushed } from './scenario.js';

/** Two processes push side by side: each device once, since each was asked for once. */
export async function sharedWork(fixture: Fixture): Promise<ScenarioResult> {
  const { devices, standIn } = fixture;
  await startOver(fixture);
  const workers = await Promise.all([
    fixture.start({ role: 'worker' }),
    fixture.start({ role: 'worker' }),
  ]);
  const startedAt = performance.now();
  const enqueued = await enqueue(fixture.api, devices);
  const enqueueSeconds = (performance.now() - startedAt) / 1000;
  await recover(fixture, { skipsWaiting: false });
  const seconds = (performance.now() - startedAt) / 1000;
  const broken = await brokenPromises(fixture, enqueued);
  const surplus = await surplusPushes(fixture);
  if (surplus !== 0) broken.push(`${surplus} pushes more than were asked for`);
  if (enqueued.repeated > 0) broken.push(`${enqueued.repeated} commands were not taken at once`);
  for (const worker of workers) await worker.stop();
  const figures = { pushes: (await standIn.tally()).accepted, surplus, enqueueSeconds, seconds };
  return { name: 'two processes share the work', broken, figures };
}

/** At which share of the pushes the process is killed. */
const KILL_SHARE = 0.4;

/** kill -9 of one of two processes that push, in the middle of it. */
export async function workerKill(fixture: Fixture, size: Size): Promise<ScenarioResult> {
  const { devices, standIn } = fixture;
  await startOver(fixture);
  await standIn.delayAnswers(size.answerDelayMs);
  const [victim, survivor] = await Promise.all([
    fixture.start({ role: 'worker' }),
    fixture.start({ role: 'worker' }),
  ]);
  const [first, second] = inHalves(devices);
  const before = enqueue(fixture.api, first);
  await untilPushed(fixture, KILL_SHARE);
  const after = enqueue(fixture.api, second);
  await victim.kill();
  const pushedAtKill = (await standIn.tally()).pushedDevices;
  const enqueued = await sumOf([before, after]);
  const recoverySeconds = await recover(fixture, size);
  const surplus = await surplusPushes(fixture);
  const broken = await brokenPromises(fixture, enqueued);
  await standIn.delayAnswers(0);
  await survivor.stop();
  const figures = { pushedAtKill, surplus, recoverySeconds };
  return { name: 'kill -9 of a process that pushes', broken, figures };
}

const OUTAGE_SHARE = 0.3;

/** The push service goes away in the middle, for a while, and comes back at the same address. */
export async function pushOutage(fixture: Fixture, size: Size): Promise<ScenarioResult> {
  const { devices, standIn } = fixture;
  await startOver(fixture);
  await standIn.delayAnswers(size.answerDelayMs);
  const worker = await fixture.start({ role: 'worker' });
  const [first, second] = inHalves(devices);
  const before = enqueue(fixture.api, first);
  await untilPushed(fixture, OUTAGE_SHARE);
  await standIn.goDown();
  const pushedBefore = (await standIn.tally()).pushedDevices;
  const enqueued = await sumOf([before, enqueue(fixture.api, second)]);
  await sleep(size.outageMs);
  const pushedMeanwhile = (await standIn.tally()).pushedDevices - pushedBefore;
  await standIn.comeBack();
  const recoverySeconds = await recover(fixture, size);
  const surplus = await surplusPushes(fixture);
  const broken = await brokenPromises(fixture, enqueued);
  await standIn.delayAnswers(0);
  await worker.stop();
  const figures = { pushedBefore, pushedMeanwhile, surplus, recoverySeconds };
  return { name: `the push service is away for ${size.outageMs / 1000} s`, broken, figures };
}

const OURS = `
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
  and application_name = 'muster'`;

/** Shares of the pushes at which it happens. */
const TERMINATE_AT = 0.3;
const CRASH_AT = 0.6;

/** The database breaks all connections, or crashes, while two processes push. */
export async function databaseRestart(fixture: Fixture, size: Size): Promise<ScenarioResult> {
  const { devices, standIn, pool } = fixture;
  await startOver(fixture);
  await standIn.delayAnswers(size.answerDelayMs);
  const workers = await Promise.all([
    fixture.start({ role: 'worker' }),
    fixture.start({ role: 'worker' }),
  ]);
  const [first, second] = inHalves(devices);
  const before = enqueue(fixture.api, first);
  await untilPushed(fixture, TERMINATE_AT);
  const terminated = await terminateAll(pool);
  const after = enqueue(fixture.api, second);
  await untilPushed(fixture, CRASH_AT);
  if (size.crashesDatabase) await crash(pool);
  else await terminateAll(pool);
  const enqueued = await sumOf([before, after]);
  const recoverySeconds = await recover(fixture, size);
  const surplus = await surplusPushes(fixture);
  const broken = await brokenPromises(fixture, enqueued);
  await standIn.delayAnswers(0);
  for (const worker of workers) await worker.stop();
  const { accepted, repeated } = enqueued;
  const figures = { terminated, accepted, repeated, surplus, recoverySeconds };
  return { name: 'the database breaks off', broken, figures };
}

async function terminateAll(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(pg_terminate_backend(pid))::int as n ${OURS}`,
  );
  return rows[0]?.n ?? 0;
}

/** After a process of it was killed PostgreSQL ends all others and recovers from its log. */
async function crash(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ pid: number }>(`select pid ${OURS} limit 1`);
  if (rows[0] === undefined) throw new Error('the server has no connection to its database');
  process.kill(rows[0].pid, 'SIGKILL');
  const isBack = () =>
    pool.query('select 1').then(
      () => true,
      () => false,
    );
  await until(async () => !(await isBack()), { what: 'the crash', ms: 5_000, everyMs: 1 }).catch(
    () => undefined, // It was away for less than a look.
  );
  await until(isBack, { what: 'PostgreSQL is back', ms: 60_000 });
}
