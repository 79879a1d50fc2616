// npm run bench:backups-beside-devices. Idle polls at a steady rate while the server backs itself up every minute
// (BACKUP_EVERY=1m), and without that, in turns. BENCH_MINUTES is how long it backs up in all (60), BENCH_GB the size of
// the database (0.3).

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fillToGigabytes } from './data/bulky-rows.js';
import { type BenchDatabase, openBenchDatabase, refillQueues } from './load/database.js';
import { createFleetSeed, type FleetSeed } from './load/fleet.js';
import { type Measured, ms, quantilesOf } from './load/measure.js';
import { startServerProcess } from './load/server-process.js';
import { WorkerProcess } from './load/worker-process.js';

const MINUTES = Number(process.env.BENCH_MINUTES ?? 60);
const GB = Number(process.env.BENCH_GB ?? 0.3);
const DEVICES = 500;
const CONNECTIONS = 32;
/** Of what the server can answer: where a delay is one of the server, not of a queue. */
const SHARE = 0.4;
const TURN_MINUTES = Math.min(5, MINUTES);

const say = (text: string) => process.stdout.write(`${text}\n`);

interface Bench {
  database: BenchDatabase;
  seed: FleetSeed;
}

type Client = Pick<WorkerProcess, 'prepare' | 'run'>;

async function withServer<T>(
  { database, seed }: Bench,
  settings: Record<string, string>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { url: databaseUrl, directory: dataDir } = database;
  const server = await startServerProcess({ databaseUrl, dataDir, settings });
  const { port } = server;
  const client = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  try {
    return await work(client);
  } finally {
    await client.stop();
    await server.stop();
  }
}

async function succeed(client: Client): Promise<Measured> {
  const measured = await client.run();
  if (measured.failures > 0) throw new Error(`${measured.failures} requests failed`);
  return measured;
}

/** Enrolls the devices; returns how many polls a second the server answers at most. */
async function fastest(bench: Bench): Promise<number> {
  return await withServer(bench, {}, async (client) => {
    await client.prepare({ kind: 'enroll', from: 0, to: DEVICES });
    await succeed(client);
    await refillQueues(bench.database);
    await client.prepare({ kind: 'idle', to: DEVICES, seconds: 10 });
    return (await succeed(client)).perSecond;
  });
}

/** A minute of polls after the other. */
function minutes(bench: Bench, settings: Record<string, string>, rate: number, count: number) {
  return withServer(bench, settings, async (client) => {
    await client.prepare({ kind: 'idle-rate', to: DEVICES, seconds: 60, rate });
    const found: Measured[] = [];
    while (found.length < count) found.push(await succeed(client));
    return found;
  });
}

async function backups({ db }: BenchDatabase): Promise<string> {
  const { rows } = await db.pool.query<Record<string, string>>(
    `select count(*) filter (where state in ('finished', 'deleted')) as good,
       count(*) filter (where state = 'failed') as failed,
       round(coalesce(percentile_cont(0.5) within group (order by extract(epoch from finished_at - started_at)), 0)::numeric, 1) as seconds,
       round(coalesce(max(bytes) filter (where state in ('finished', 'deleted')), 0) / 1e6) as megabytes
     from backups`,
  );
  const { good, failed, seconds, megabytes } = rows[0] ?? {};
  return `${good} backups, ${failed} failed, each ${seconds} s and ${megabytes} MB`;
}

function line(what: string, found: readonly Measured[]): string {
  const p99 = quantilesOf(found.map((one) => one.p99));
  const polls = found.reduce((sum, one) => sum + one.operations, 0);
  return `${what}: p99 of a minute ${ms(p99.p50)} (median of ${p99.count}; worst ${ms(p99.max)}), ${polls} polls`;
}

async function main(): Promise<void> {
  const seed = await createFleetSeed();
  const database = await openBenchDatabase(seed);
  const bench = { database, seed };
  const directory = join(database.directory, 'backups');
  mkdirSync(directory);
  const settings = { BACKUP_DIR: directory, BACKUP_EVERY: '1m', BACKUP_KEEP: '2' };
  try {
    const rate = Math.round((await fastest(bench)) * SHARE);
    const size = await fillToGigabytes(database.db, GB);
    say(`database: ${(size / 1e9).toFixed(2)} GB, ${rate} polls/s`);
    const [alone, beside]: [Measured[], Measured[]] = [[], []];
    while (beside.length < MINUTES) {
      alone.push(...(await minutes(bench, {}, rate, Math.ceil(TURN_MINUTES / 2))));
      const count = Math.min(TURN_MINUTES, MINUTES - beside.length);
      beside.push(...(await minutes(bench, settings, rate, count)));
      say(line('  a backup every minute, so far', beside));
    }
    say(line('without backups', alone));
    say(line('a backup every minute', beside));
    say(await backups(database));
    const middle = (found: Measured[]) => quantilesOf(found.map(({ p99 }) => p99)).p50;
    say(`p99 with backups against without: ${(middle(beside) / middle(alone)).toFixed(2)} x`);
  } finally {
    await database.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
