// npm run bench:workers. Idle polls and commands a second with one process and with WORKERS=2 over the same
// database, in turns, and how many cores Muster, PostgreSQL and the load took meanwhile: more processes cannot add
// throughput once all cores are busy. BENCH_WORKERS changes the number, BENCH_ROUNDS the rounds, BENCH_SECONDS
// and BENCH_CONNECTIONS the load.

import { availableParallelism } from 'node:os';
import { type BenchDatabase, openBenchDatabase, refillQueues } from './load/database.js';
import { createFleetSeed, type FleetSeed, udidsOf } from './load/fleet.js';
import { type Measured, ms, quantilesOf } from './load/measure.js';
import { readOptions } from './load/options.js';
import { usageOfFamily } from './load/process-usage.js';
import { startServerProcess } from './load/server-process.js';
import { WorkerProcess } from './load/worker-process.js';

readOptions({});

const WORKERS = Number(process.env.BENCH_WORKERS ?? 2);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 6);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 64);
const DEVICES = 500;
const PER_DEVICE = 40;

const say = (text: string) => process.stdout.write(`${text}\n`);

/** CPU of each side as a number of cores. */
interface Cores {
  muster: number;
  postgres: number;
  load: number;
}

type Timed = Measured & { cores: Cores };

interface Found {
  idle: Timed;
  loop: Timed;
}

const cpuOf = (pid: number) => usageOfFamily(pid)?.cpuSeconds ?? 0;

async function measure(
  database: BenchDatabase,
  seed: FleetSeed,
  { workers, round }: { workers: number; round: number },
): Promise<Found> {
  const { url: databaseUrl, directory: dataDir } = database;
  const settings = { WORKERS: String(workers) };
  const server = await startServerProcess({ databaseUrl, dataDir, settings });
  const { port } = server;
  const client = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  const run = async (task: Parameters<WorkerProcess['prepare']>[0]) => {
    await client.prepare(task);
    const pids = [server.pid, database.pid ?? 0];
    const [before, started] = [pids.map(cpuOf), performance.now()];
    const measured = await client.run();
    const seconds = (performance.now() - started) / 1000;
    const [muster = 0, postgres = 0] = pids.map(
      (pid, i) => (cpuOf(pid) - (before[i] ?? 0)) / seconds,
    );
    if (measured.failures > 0) throw new Error(`${measured.failures} requests failed`);
    return { ...measured, cores: { muster, postgres, load: measured.cpu } };
  };
  try {
    await run({ kind: 'enroll', from: 0, to: DEVICES });
    await refillQueues(database);
    const idle = await run({ kind: 'idle', to: DEVICES, seconds: SECONDS });
    const udids = udidsOf(DEVICES);
    const phase = `workers-${workers}-${round}`;
    const fill = { udids, phase, perDevice: PER_DEVICE, requestType: 'ContentCachingInformation' };
    await refillQueues(database, fill);
    const loop = await run({ kind: 'loop', to: DEVICES, phase, perDevice: PER_DEVICE });
    return { idle, loop };
  } finally {
    await client.stop();
    await server.stop();
  }
}

function describe(workers: number, { idle, loop }: Found): string {
  const rate = ({ perSecond, p50, p99, cores }: Timed) =>
    `${Math.round(perSecond).toLocaleString('en')}/s (p50 ${ms(p50)}, p99 ${ms(p99)}; cores: ${coresText(cores)})`;
  return `WORKERS=${workers}: Idle ${rate(idle)}, commands ${rate(loop)}`;
}

function coresText({ muster, postgres, load }: Cores): string {
  const sum = (muster + postgres + load).toFixed(2);
  const parts = `Muster ${muster.toFixed(2)}, PostgreSQL ${postgres.toFixed(2)}, load ${load.toFixed(2)}`;
  return `${parts}: ${sum} of ${availableParallelism()}`;
}

function medians(found: Found[]) {
  const middle = (of: (one: Found) => number) => quantilesOf(found.map(of)).p50;
  return {
    idle: middle(({ idle }) => idle.perSecond),
    loop: middle(({ loop }) => loop.perSecond),
  };
}

async function main(): Promise<void> {
  const seed = await createFleetSeed();
  const database = await openBenchDatabase(seed);
  const found = new Map<number, Found[]>([
    [1, []],
    [WORKERS, []],
  ]);
  try {
    for (let round = 1; round <= ROUNDS; round += 1) {
      for (const [workers, list] of found) {
        const one = await measure(database, seed, { workers, round });
        list.push(one);
        say(describe(workers, one));
      }
    }
    const [single, several] = [medians(found.get(1) ?? []), medians(found.get(WORKERS) ?? [])];
    const times = (name: 'idle' | 'loop') => (several[name] / single[name]).toFixed(2);
    say(`WORKERS=${WORKERS} against one: Idle ${times('idle')} x, commands ${times('loop')} x`);
  } finally {
    await database.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
