// npm run bench:reports. How fast stored answers to DeviceInformation are handled when nothing else is
// to do, and what one costs; then how long Idle polls take beside them. BENCH_DEVICES changes the
// number of answers in a round; BENCH_RATE, BENCH_SECONDS and BENCH_RUNS the polls (0 runs: none).

import { CommandQueue } from '../src/commands/queue.js';
import { ReportWorker } from '../src/commands/reports/report-worker.js';
import { SecretBox } from '../src/crypto/secrets/secret-box.js';
import { connectDatabase } from '../src/db/connection/database.js';
import { createLogger } from '../src/logger.js';
import { type BenchDatabase, openBenchDatabase } from './load/database.js';
import { createFleetSeed } from './load/fleet.js';
import { readOptions } from './load/options.js';
import { usageOfFamily } from './load/process-usage.js';
import { measureBeside } from './load/reports-beside-devices.js';
import { addDevices, releaseReports, storeReports } from './load/stored-reports.js';

readOptions({});

const DEVICES = Number(process.env.BENCH_DEVICES ?? 4_000);
const RUNS = Number(process.env.BENCH_RUNS ?? 3);
const BESIDE = {
  devices: 1_000,
  rate: Number(process.env.BENCH_RATE ?? 1_000),
  seconds: Number(process.env.BENCH_SECONDS ?? 5),
  answers: 15,
  runs: RUNS,
};
const ROUNDS = ['every device changed', 'nothing changed', 'nothing changed'];
const HANDLED = 'select count(*)::int as n from devices where device_name = $1';

const databaseCpu = ({ pid }: BenchDatabase) =>
  pid === undefined ? 0 : (usageOfFamily(pid)?.cpuSeconds ?? 0);

async function waiting({ db }: BenchDatabase): Promise<{ id: number; deviceId: number }[]> {
  const { rows } = await db.pool.query(
    'select id, device_id as "deviceId" from commands where needs_handling order by id',
  );
  return rows;
}

async function drain(database: BenchDatabase): Promise<string> {
  const own = connectDatabase({ connectionString: database.url });
  const box = new SecretBox(Buffer.alloc(32, 7));
  const worker = new ReportWorker({
    db: own,
    box,
    queue: new CommandQueue(box),
    recipient: { open: () => Promise.resolve(undefined) } as never,
    logger: createLogger('error'),
    readInThread: () => Promise.reject(new Error('no report here is large')),
  });
  const reports = await waiting(database);
  const before = {
    cpu: process.cpuUsage(),
    database: databaseCpu(database),
    at: performance.now(),
  };
  for (const report of reports) worker.submit(report);
  await worker.drain();
  const seconds = (performance.now() - before.at) / 1_000;
  const { user, system } = process.cpuUsage(before.cpu);
  const databaseSeconds = databaseCpu(database) - before.database;
  const each = (cpuSeconds: number) => Math.round((cpuSeconds * 1e6) / reports.length);
  const left = await waiting(database);
  const { rows } = await database.db.pool.query(HANDLED, ['Benchmark Mac']);
  await own.close();
  if (left.length > 0 || rows[0].n !== DEVICES) throw new Error(`${left.length} are not handled`);
  return [
    `${Math.round(reports.length / seconds)}/s`,
    `node ${each((user + system) / 1e6)} us`,
    `PostgreSQL ${each(databaseSeconds)} us`,
  ].join(', ');
}

const ms = (value: number) => `${value.toFixed(1)} ms`;

async function sayBeside(): Promise<void> {
  const seed = await createFleetSeed();
  const database = await openBenchDatabase(seed);
  try {
    for (const { alone, beside, handledPerSecond } of await measureBeside(database, seed, BESIDE)) {
      const { p50, p99, perSecond, failures } = beside;
      process.stdout.write(
        `${Math.round(alone.perSecond)} Idle/s p50 ${ms(alone.p50)} p99 ${ms(alone.p99)}; ` +
          `beside ${Math.round(handledPerSecond)} answers/s: ${Math.round(perSecond)} Idle/s ` +
          `p50 ${ms(p50)} p99 ${ms(p99)}, ${alone.failures + failures} failed\n`,
      );
    }
  } finally {
    await database.stop();
  }
}

async function main(): Promise<void> {
  if (DEVICES > 0) await sayDrain();
  if (RUNS > 0) await sayBeside();
}

async function sayDrain(): Promise<void> {
  const database = await openBenchDatabase(await createFleetSeed(1));
  try {
    await addDevices(database, DEVICES);
    for (const round of ROUNDS) {
      await storeReports(database, DEVICES);
      await releaseReports(database);
      process.stdout.write(`${DEVICES} answers, ${round}: ${await drain(database)}\n`);
    }
  } finally {
    await database.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
