import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchDatabase, refillQueues } from './database.js';
import type { FleetSeed } from './fleet.js';
import type { Measured } from './measure.js';
import { startServerProcess } from './server-process.js';
import { releaseReports, storeReports } from './stored-reports.js';
import { WorkerProcess } from './worker-process.js';

export interface BesideOptions {
  devices: number;
  seconds: number;
  /** Idle polls a second. */
  rate: number;
  /** Stored answers of each device. */
  answers: number;
  runs: number;
}

export interface Beside {
  alone: Measured;
  beside: Measured;
  /** Stored answers handled a second meanwhile. */
  handledPerSecond: number;
}

const CONNECTIONS = 64;

/** Idle polls at a fixed rate, without and with a backlog of answers, one after the other. */
export async function measureBeside(
  database: BenchDatabase,
  seed: FleetSeed,
  { devices, seconds, rate, answers, runs }: BesideOptions,
): Promise<Beside[]> {
  const { url: databaseUrl, directory: dataDir } = database;
  const server = await startServerProcess({ databaseUrl, dataDir });
  const { port } = server;
  const worker = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  const found: Beside[] = [];
  try {
    await worker.prepare({ kind: 'enroll', from: 0, to: devices });
    await worker.run();
    await worker.prepare({ kind: 'idle-rate', to: devices, seconds, rate });
    for (let run = 0; run < runs; run += 1) {
      await refillQueues(database);
      const alone = await worker.run();
      for (let n = 0; n < answers; n += 1) await storeReports(database, devices);
      await releaseReports(database);
      await untilFewer(database, devices * answers);
      const before = { waiting: await countWaiting(database), at: performance.now() };
      const beside = await worker.run();
      const handled = before.waiting - (await countWaiting(database));
      const handledPerSecond = (handled * 1000) / (performance.now() - before.at);
      found.push({ alone, beside, handledPerSecond });
    }
  } finally {
    await worker.stop();
    await server.kill();
  }
  return found;
}

async function countWaiting({ db }: BenchDatabase): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>(
    'select count(*) from commands where needs_handling',
  );
  return rows[0]?.count ?? 0;
}

async function untilFewer(database: BenchDatabase, than: number): Promise<void> {
  while ((await countWaiting(database)) >= than) await sleep(50);
}
