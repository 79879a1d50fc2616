// npm run bench:backups-beside-devices. Idle polls at a steady rate, a minute after the other, with a backup
// of the server in each minute and without, in turns; over the embedded PostgreSQL, whose process that reads for the
// backup is lowered as well. BENCH_MINUTES is how many minutes have a backup (60), BENCH_GB
// the size of the database (0.3).

import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillToGigabytes } from './data/bulky-rows.js';
import { ApiClient } from './load/api-client.js';
import { makeBenchDirectory } from './load/bench-directory.js';
import { joinEmbedded, refillQueues, trustFleet } from './load/database.js';
import { createFleetSeed, type FleetSeed } from './load/fleet.js';
import { type Measured, ms, quantilesOf } from './load/measure.js';
import { readOptions } from './load/options.js';
import { startServerProcess } from './load/server-process.js';
import { WorkerProcess } from './load/worker-process.js';

readOptions({});

const MINUTES = Number(process.env.BENCH_MINUTES ?? 60);
const GB = Number(process.env.BENCH_GB ?? 0.3);
const DEVICES = 500;
const CONNECTIONS = 32;
/** Share of the rate that the server can answer: low enough that delays are the server's, not a queue's. */
const SHARE = 0.4;
const SECONDS = 60;
/** Minutes with a backup for each without. */
const TURN = 3;

const say = (text: string) => process.stdout.write(`${text}\n`);

interface Bench {
  database: Awaited<ReturnType<typeof joinEmbedded>>;
  client: WorkerProcess;
  api: ApiClient;
}

async function succeed(client: WorkerProcess): Promise<Measured> {
  const measured = await client.run();
  if (measured.failures > 0) throw new Error(`${measured.failures} requests failed`);
  return measured;
}

/** Enrolls the devices, fills the database and has the client prepare a minute of polls. */
async function prepare({ client, database }: Bench): Promise<void> {
  await client.prepare({ kind: 'enroll', from: 0, to: DEVICES });
  await succeed(client);
  await refillQueues(database);
  const size = await fillToGigabytes(database.db, GB);
  await client.prepare({ kind: 'idle', to: DEVICES, seconds: 10 });
  const { perSecond } = await succeed(client);
  const rate = Math.round(perSecond * SHARE);
  const most = Math.round(perSecond);
  say(`database: ${(size / 1e9).toFixed(2)} GB; ${rate} polls/s of ${most} possible`);
  await client.prepare({ kind: 'idle-rate', to: DEVICES, seconds: SECONDS, rate });
}

/** Waits for the backup before it, should that one take longer than its minute. */
async function startBackup(api: ApiClient): Promise<void> {
  for (;;) {
    const { status, body } = await api.call({
      method: 'POST',
      path: '/backups',
      body: { data: { type: 'backups', attributes: {} } },
    });
    if (status === 202) return;
    if (status !== 409) throw new Error(`POST /backups: ${status} ${body.toString()}`);
    await sleep(1000);
  }
}

async function backups({ db }: Bench['database']): Promise<string> {
  const { rows } = await db.pool.query<Record<string, string>>(
    `select count(*) filter (where state in ('finished', 'deleted')) as good,
       count(*) filter (where state not in ('finished', 'deleted')) as others,
       round(percentile_cont(0.5) within group (order by extract(epoch from finished_at - started_at))::numeric, 1)
         as seconds,
       round(max(bytes) filter (where state = 'finished') / 1e6) as megabytes
     from backups`,
  );
  const { good, others, seconds, megabytes } = rows[0] ?? {};
  return `${good} backups, ${others} failed or unfinished; each ${seconds} s, ${megabytes} MB`;
}

const p99 = (found: readonly Measured[]) => quantilesOf(found.map((one) => one.p99));

function line(what: string, found: readonly Measured[]): string {
  const { p50, max, count } = p99(found);
  const polls = found.reduce((sum, one) => sum + one.operations, 0);
  return `${what}: p99 of a minute ${ms(p50)} (median of ${count}; worst ${ms(max)}), ${polls} polls, none failed`;
}

async function measure(bench: Bench): Promise<void> {
  const { client, api, database } = bench;
  await prepare(bench);
  const [alone, beside]: [Measured[], Measured[]] = [[], []];
  while (beside.length < MINUTES) {
    if (beside.length % TURN === 0) alone.push(await succeed(client));
    await startBackup(api);
    beside.push(await succeed(client));
    if (beside.length % TURN > 0) continue;
    say(line('  without, so far', alone));
    say(line('  with backups, so far', beside));
  }
  say(line('without backups', alone));
  say(line('a backup every minute', beside));
  say(await backups(database));
  say(`p99 with backups against without: ${(p99(beside).p50 / p99(alone).p50).toFixed(2)} x`);
}

/** Its embedded PostgreSQL, with the fleet's CA, before the server starts. */
async function prepareDataDir(dataDir: string, seed: FleetSeed): Promise<void> {
  const { url, stop } = await joinEmbedded(dataDir);
  await trustFleet(url, seed);
  await stop();
}

async function main(): Promise<void> {
  const seed = await createFleetSeed();
  const dataDir = makeBenchDirectory();
  await prepareDataDir(dataDir, seed);
  const token = randomBytes(24).toString('base64url');
  const directory = join(dataDir, 'backups');
  mkdirSync(directory);
  const settings = { ADMIN_TOKEN: token, BACKUP_DIR: directory, BACKUP_KEEP: '2' };
  const server = await startServerProcess({ dataDir, settings });
  const { port } = server;
  const database = await joinEmbedded(dataDir);
  const { url: databaseUrl } = database;
  const client = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  const api = new ApiClient(port, token);
  try {
    await measure({ database, client, api });
  } finally {
    api.close();
    await client.stop();
    await database.stop();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
