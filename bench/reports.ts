// npm run bench:reports. How fast stored answers to DeviceInformation are handled when nothing else is
// to do, and what one costs. BENCH_DEVICES changes the number of answers in a round.

import { CommandQueue } from '../src/commands/queue.js';
import { ReportWorker } from '../src/commands/reports/report-worker.js';
import { SecretBox } from '../src/crypto/secrets/secret-box.js';
import { connectDatabase } from '../src/db/connection/database.js';
import { createLogger } from '../src/logger.js';
import { type BenchDatabase, openBenchDatabase } from './load/database.js';
import { createFleetSeed } from './load/fleet.js';
import { usageOfFamily } from './load/process-usage.js';
import { addDevices, storeReports } from './load/stored-reports.js';

const DEVICES = Number(process.env.BENCH_DEVICES ?? 4_000);
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

async function main(): Promise<void> {
  const database = await openBenchDatabase(await createFleetSeed(1));
  try {
    await addDevices(database, DEVICES);
    for (const round of ROUNDS) {
      await storeReports(database, DEVICES);
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
