import { cpus } from 'node:os';
import { usageOf, usageOfFamily } from '../load/process-usage.js';
import type { ServerProcess } from '../load/server-process.js';
import { pushState } from '../soak/checks.js';
import type { Fixture } from '../soak/fixture.js';
import { until } from '../soak/scenario.js';
import { makeAllDue, queueForAll } from './push-devices.js';

/** Shares of one core, from the first push to the last. */
export interface CpuShares {
  server: number;
  standIn: number;
  database: number;
  /** All processes there are, also those that are nothing to this. */
  machine: number;
}

export interface WholeResult {
  devices: number;
  perSecond: number;
  /** Pushes beyond one for each device. */
  surplus: number;
  /** From the commit that made them due to the first push. */
  firstAfterMs: number;
  /** From the last push to the moment when the outcome of all was in the database. */
  outcomesAfterMs: number;
  cpu: CpuShares;
  binds: string;
  rssMegabytes: number;
  loopHeldMs: number;
  /** Devices that were not pushed, or whose push was not noted. */
  failures: number;
}

interface Sample extends CpuShares {
  at: number;
}

const MAX_WAIT_MS = 120_000;
const NEARLY = 0.85;

/** All devices become due at one moment; one process pushes them all. */
export async function measureWhole(fixture: Fixture, databasePid: number): Promise<WholeResult> {
  const { standIn, pool, devices } = fixture;
  await queueForAll(pool);
  const worker = await fixture.start({ role: 'worker', watchLoop: true });
  await standIn.reset();
  const watching = standIn.watch(devices.length);
  await worker.loopHeldMs();
  await makeAllDue(pool);
  const before = sample(fixture, worker, databasePid);
  const { firstAt, lastAt } = await watching;
  const after = sample(fixture, worker, databasePid);
  const isNoted = async () => (await pushState(pool)).unpushed === 0;
  await until(isNoted, { what: 'all outcomes', ms: MAX_WAIT_MS, everyMs: 10 });
  const notedAt = hrtimeMs();
  const loopHeldMs = await worker.loopHeldMs();
  const { accepted, pushedDevices } = await standIn.tally();
  const rssMegabytes = usageOf(worker.pid)?.peakMegabytes ?? 0;
  await worker.stop();
  const cpu = sharesBetween(before, after);
  return {
    devices: devices.length,
    perSecond: devices.length / ((lastAt - firstAt) / 1000),
    surplus: accepted - devices.length,
    firstAfterMs: firstAt - before.at,
    outcomesAfterMs: Math.max(0, notedAt - lastAt),
    cpu,
    binds: whatBinds(cpu),
    rssMegabytes,
    loopHeldMs,
    failures: devices.length - pushedDevices + (await pushState(pool)).failed,
  };
}

function sample(fixture: Fixture, worker: ServerProcess, databasePid: number): Sample {
  return {
    at: hrtimeMs(),
    server: usageOf(worker.pid)?.cpuSeconds ?? 0,
    standIn: usageOf(fixture.standIn.pid)?.cpuSeconds ?? 0,
    database: usageOfFamily(databasePid)?.cpuSeconds ?? 0,
    machine: busySeconds(),
  };
}

function busySeconds(): number {
  const busy = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return busy.reduce((sum, ms) => sum + ms, 0) / 1000;
}

function hrtimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function sharesBetween(before: Sample, after: Sample): CpuShares {
  const seconds = (after.at - before.at) / 1000;
  const share = (name: keyof CpuShares) => (after[name] - before[name]) / seconds;
  return {
    server: share('server'),
    standIn: share('standIn'),
    database: share('database'),
    machine: share('machine'),
  };
}

/** A process of one busy thread stands at one core; all together at all of them. */
function whatBinds({ server, standIn, machine }: CpuShares): string {
  const cores = cpus().length;
  if (server >= NEARLY) return 'the one thread of the server';
  if (standIn >= NEARLY) return 'the one thread of the stand-in';
  if (machine >= NEARLY * cores) return `the ${cores} cores of this machine together`;
  return 'waiting: none of the processes is busy all the time';
}
