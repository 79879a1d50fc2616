import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ApiClient } from '../../load/api-client.js';
import { usageOf } from '../../load/process-usage.js';
import type { ScenarioResult } from '../scenario.js';
import { type DepFixture, openDepFixture } from './dep-fixture.js';
import { DepSteps } from './dep-steps.js';

export interface DepOptions {
  /** An empty database, or one that is migrated and holds nothing. */
  databaseUrl: string;
  devices: number;
}

/** Seconds that a sync of FULL devices may take: proportionally less for fewer devices, but not below FEW. */
const FULL_SYNC_S = 180;
const FULL = 100_000;
const FEW = 20_000;
/** What a new server of the stand-in has before. */
const FIRST = 10;
const ADDED = 100;
const REMOVED = 50;
const IDLE_MS = 5_000;
/** Twice as long as without, and this: the two share a machine with the database and Apple. */
const ALLOWANCE_MS = 20;
const GROWTH_MB = 200;

const COUNTS = `
select count(*) filter (where removed_at is null)::int as listed,
  count(*) filter (where removed_at is not null)::int as removed,
  count(*) filter (where removed_at is null and profile_uuid is not null)::int as assigned,
  count(distinct device_id)::int as records
from dep_devices`;

/** What was read meanwhile, and what the work returned. */
type Phase = Awaited<ReturnType<typeof watchApi<number>>>;

interface Measured {
  sync: Phase;
  assign: Phase;
  idle: Phase;
  echoSeconds: number;
  deltaSeconds: number;
  heldMs: number;
  rssBefore: number;
  rssAfterSync: number;
  rssAfter: number;
  rssPeak: number;
}

const PATHS = ['/devices?page[size]=20&sort=-id', '/dep/accounts', '/dep/devices?page[size]=20'];

const latency = ({ seen }: Phase, share: number) => quantile(seen.times, share);

/** A large account is read, its devices get a profile, and some come and go. */
export async function depSync(options: DepOptions): Promise<ScenarioResult> {
  const { databaseUrl, devices } = options;
  const fixture = await openDepFixture(databaseUrl);
  try {
    await fixture.apple.addDevices(devices);
    const measured = await measure(fixture, new DepSteps(fixture));
    return {
      name: `${devices} DEP devices`,
      broken: [...(await brokenCounts(fixture, options)), ...brokenMeasures(measured, devices)],
      figures: figuresOf(measured, devices),
    };
  } finally {
    await fixture.close();
  }
}

/** Milliseconds. */
interface ApiSeen {
  times: number[];
  /** Descriptions of answers other than 200. */
  failures: string[];
}

const PAUSE_MS = 10;

/** One admin who goes on reading while the work is done. */
async function watchApi<T>(
  api: ApiClient,
  paths: readonly string[],
  work: () => Promise<T>,
): Promise<{ result: T; seen: ApiSeen }> {
  const seen: ApiSeen = { times: [], failures: [] };
  let isOver = false;
  const read = async () => {
    for (let turn = 0; !isOver; turn += 1) {
      const path = paths[turn % paths.length] ?? '/';
      const startedAt = performance.now();
      const { status } = await api.call({ path });
      seen.times.push(performance.now() - startedAt);
      if (status !== 200) seen.failures.push(`${path} was answered ${status}`);
      await sleep(PAUSE_MS);
    }
  };
  const reading = read();
  try {
    return { result: await work(), seen };
  } finally {
    isOver = true;
    await reading;
  }
}

function quantile(times: readonly number[], share: number): number {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function measure({ apple, server, api }: DepFixture, steps: DepSteps) {
  const rss = () => usageOf(server.pid)?.rssMegabytes ?? 0;
  const rssBefore = rss();
  await server.loopHeldMs();
  const sync = await watchApi(api, PATHS, () => steps.firstSync());
  const heldMs = await server.loopHeldMs();
  const rssAfterSync = rss();
  const assign = await watchApi(api, PATHS, () => steps.assignAll());
  // Apple answers with a result for each assignment.
  const echoSeconds = await steps.deltaSync();
  await apple.addDevices(ADDED);
  await apple.removeDevices(REMOVED);
  const deltaSeconds = await steps.deltaSync();
  await steps.untilAssigned();
  const idle = await watchApi(api, PATHS, () => sleep(IDLE_MS, IDLE_MS));
  const rssPeak = usageOf(server.pid)?.peakMegabytes ?? 0;
  const memory = { rssBefore, rssAfterSync, rssAfter: rss(), rssPeak };
  return { sync, assign, idle, echoSeconds, deltaSeconds, heldMs, ...memory };
}

async function brokenCounts(
  { apple }: DepFixture,
  { databaseUrl, devices }: DepOptions,
): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const { rows } = await pool.query(COUNTS);
  await pool.end();
  const { listed, profiles } = await apple.count();
  const records = devices + FIRST + ADDED;
  const present = records - REMOVED;
  const expected = { listed: present, removed: REMOVED, assigned: present, records };
  const [found, wanted] = [rows[0], expected].map((row) => JSON.stringify(row));
  const kinds = Object.values(profiles).filter((count) => count === present);
  return [
    ...(found === wanted ? [] : [`the rows are ${found}, not ${wanted}`]),
    ...(kinds.length === 1 ? [] : [`Apple has ${JSON.stringify(profiles)} in use`]),
    ...(listed === present ? [] : [`Apple lists ${listed}`]),
  ];
}

function brokenMeasures(measured: Measured, devices: number): string[] {
  const { sync, assign, idle, rssBefore, rssPeak } = measured;
  const broken = new Set([sync, assign, idle].flatMap(({ seen }) => seen.failures));
  const allowed = (FULL_SYNC_S * Math.max(devices, FEW)) / FULL;
  if (sync.result > allowed) broken.add(`the full sync took ${sync.result.toFixed(0)} s`);
  if (rssPeak - rssBefore > GROWTH_MB) broken.add(`the server grew to ${rssPeak.toFixed(0)} MB`);
  const slowest = Math.max(latency(sync, 0.95), latency(assign, 0.95));
  if (slowest > 2 * latency(idle, 0.95) + ALLOWANCE_MS) {
    broken.add(`the admin API took up to ${slowest.toFixed(0)} ms meanwhile (p95)`);
  }
  return [...broken];
}

function figuresOf(measured: Measured, devices: number): Record<string, number> {
  const { sync, assign, idle, ...rest } = measured;
  return {
    syncSeconds: sync.result,
    rowsPerSecond: devices / sync.result,
    assignSeconds: assign.result,
    ...rest,
    idleP50: latency(idle, 0.5),
    idleP95: latency(idle, 0.95),
    syncP50: latency(sync, 0.5),
    syncP95: latency(sync, 0.95),
    assignP50: latency(assign, 0.5),
    assignP95: latency(assign, 0.95),
  };
}
