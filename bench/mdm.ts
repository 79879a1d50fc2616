// npm run bench:mdm. BENCH_DATABASE_URL uses an empty database elsewhere; BENCH_DEVICES,
// BENCH_CONNECTIONS, BENCH_SECONDS, BENCH_COMMANDS_PER_DEVICE, BENCH_ENROLLMENTS change the size.
import { cpus } from 'node:os';
import {
  type BenchDatabase,
  catchUp,
  countCommands,
  type FillOptions,
  openBenchDatabase,
  refillQueues,
} from './load/database.js';
import { createFleetSeed, udidsOf } from './load/fleet.js';
import type { Measured } from './load/measure.js';
import { readOptions } from './load/options.js';
import { type Usage, usageOf, usageOfFamily } from './load/process-usage.js';
import { type ServerProcess, startServerProcess } from './load/server-process.js';
import { type Task, WorkerProcess } from './load/worker-process.js';

readOptions({});

function setting(name: string, fallback: number): number {
  return Number(process.env[name] ?? fallback);
}

const DEVICES = setting('BENCH_DEVICES', 500);
/** Each connection is that of a device of its own. */
const CONNECTIONS = Math.min(DEVICES, setting('BENCH_CONNECTIONS', 32));
const SECONDS = setting('BENCH_SECONDS', 8);
const PER_DEVICE = setting('BENCH_COMMANDS_PER_DEVICE', 60);
const ENROLLMENTS = setting('BENCH_ENROLLMENTS', 6000);

/** A command whose answer is only stored; the last measurement also handles the answers. */
const PLAIN = 'ContentCachingInformation';
const HANDLED = 'DeviceInformation';

interface Bench {
  database: BenchDatabase;
  server: ServerProcess;
  worker: WorkerProcess;
}

interface Row {
  name: string;
  measured: Measured;
  serverCpu?: number | undefined;
  databaseCpu?: number | undefined;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

type CpuUsage = Pick<Usage, 'cpuSeconds'>;

function share(before: CpuUsage | undefined, after: CpuUsage | undefined, seconds: number) {
  if (before === undefined || after === undefined) return undefined;
  return (after.cpuSeconds - before.cpuSeconds) / seconds;
}

function databaseUsage({ pid }: BenchDatabase) {
  return pid === undefined ? undefined : usageOfFamily(pid);
}

async function measure({ worker, server, database }: Bench, name: string, task: Task) {
  await worker.prepare(task);
  const before = { server: usageOf(server.pid), database: databaseUsage(database), at: Date.now() };
  const measured = await worker.run();
  const seconds = (Date.now() - before.at) / 1000;
  const serverCpu = share(before.server, usageOf(server.pid), seconds);
  const databaseCpu = share(before.database, databaseUsage(database), seconds);
  const row: Row = {
    name,
    measured,
    serverCpu,
    databaseCpu,
  };
  say(describe(row));
  return row;
}

function percent(value: number | undefined): string {
  return value === undefined ? '-' : `${Math.round(value * 100)} %`;
}

const COLUMNS = [34, 10, 8, 8, 8, 8, 8, 8, 8];

function columns(cells: string[]): string {
  return cells
    .map((cell, i) => (i === 0 ? cell.padEnd(COLUMNS[0] ?? 0) : cell.padStart(COLUMNS[i] ?? 0)))
    .join('');
}

function describe({ name, measured, serverCpu, databaseCpu }: Row): string {
  const { perSecond, p50, p95, p99, cpu, failures } = measured;
  return columns([
    name,
    Math.round(perSecond).toLocaleString('en'),
    ...[p50, p95, p99].map((time) => time.toFixed(2)),
    percent(cpu),
    percent(serverCpu),
    percent(databaseCpu),
    String(failures),
  ]);
}

function fillFor(phase: string, requestType: string): FillOptions {
  const udids = udidsOf(DEVICES);
  return { udids, phase, perDevice: PER_DEVICE, requestType };
}

async function loop(bench: Bench, name: string, fill: FillOptions): Promise<void> {
  await refillQueues(bench.database, fill);
  const { phase, perDevice } = fill;
  await measure(bench, name, { kind: 'loop', to: DEVICES, phase, perDevice });
  const counts = await countCommands(bench.database);
  const expected = DEVICES * PER_DEVICE;
  if (counts.Acknowledged !== expected) {
    throw new Error(`${expected} commands were queued, afterwards: ${JSON.stringify(counts)}`);
  }
}

async function measureServer(bench: Bench): Promise<void> {
  const first = DEVICES;
  await bench.worker.prepare({ kind: 'enroll', from: 0, to: DEVICES });
  const { failures } = await bench.worker.run();
  if (failures > 0) throw new Error(`${failures} devices could not enroll`);
  await refillQueues(bench.database);
  await measure(bench, 'Idle polls', { kind: 'idle', to: DEVICES, seconds: SECONDS });
  say(`  after them: ${describeMemory(bench)}`);
  await loop(bench, 'command loop', fillFor('plain', PLAIN));
  await loop(bench, `command loop, ${HANDLED}`, fillFor('handled', HANDLED));
  const seconds = await catchUp(bench.database);
  say(
    `  the inventory of these reports was complete ${seconds.toFixed(1)} s after the last of them`,
  );
  await refillQueues(bench.database);
  const to = first + ENROLLMENTS;
  await measure(bench, 'enrollments', { kind: 'enroll', from: first, to });
}

async function measureFloor(bench: Bench): Promise<void> {
  const seconds = SECONDS / 2;
  await measure(bench, 'signature checks, one thread', { kind: 'floor-signature', seconds });
  await refillQueues(bench.database);
  await measure(bench, 'SQL of Idle polls', { kind: 'floor-idle', to: DEVICES, seconds });
  const fill = fillFor('floor', PLAIN);
  await refillQueues(bench.database, fill);
  await measure(bench, 'SQL of the command loop', { kind: 'floor-loop', to: DEVICES, ...fill });
  await refillQueues(bench.database);
  const from = DEVICES + ENROLLMENTS;
  await measure(bench, 'SQL of enrollments', {
    kind: 'floor-enroll',
    from,
    to: from + ENROLLMENTS / 2,
  });
}

function describeMemory({ server, database }: Bench): string {
  const megabytes = (size: number | undefined) =>
    size === undefined ? 'unknown' : `${Math.round(size)} MB`;
  const own = usageOf(server.pid);
  return [
    `server RSS ${megabytes(own?.rssMegabytes)}, at most ${megabytes(own?.peakMegabytes)}`,
    `PostgreSQL ${megabytes(databaseUsage(database)?.rssMegabytes)} (PSS of its processes)`,
  ].join('; ');
}

async function runAll(bench: Bench): Promise<void> {
  const cores = cpus();
  say(`${cores.length} x ${cores[0]?.model ?? 'unknown CPU'}, node ${process.version}`);
  say(`${DEVICES} devices, ${CONNECTIONS} connections, RSA-2048 Mdm-Signature, no TLS`);
  const heads = ['p50 ms', 'p95 ms', 'p99 ms', 'client', 'server', 'pg', 'failed'];
  say(`\n${columns(['through the server', 'per s', ...heads])}`);
  await measureServer(bench);
  say(describeMemory(bench));
  say(`\n${columns(['floor: the parts alone', 'per s', ...heads])}`);
  await measureFloor(bench);
}

async function main(): Promise<void> {
  const seed = await createFleetSeed();
  const database = await openBenchDatabase(seed);
  const stops: (() => Promise<void>)[] = [database.stop];
  try {
    const { url: databaseUrl, directory: dataDir } = database;
    const server = await startServerProcess({ databaseUrl, dataDir });
    stops.unshift(server.stop);
    const { port } = server;
    const worker = await WorkerProcess.start({
      seed,
      port,
      databaseUrl,
      connections: CONNECTIONS,
    });
    stops.unshift(() => worker.stop());
    await runAll({ database, server, worker });
  } finally {
    for (const stop of stops) await stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
