// npm run bench:backup. How long `muster backup` and `muster restore` take, how large the file is and how much
// memory and CPU each takes, for a database of BENCH_GB gigabytes (2): commands with sealed payloads and results, which no
// compression makes smaller than their bytes, and inventories. BENCH_PASSPHRASE=on encrypts it.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, type Database } from '../src/db/connection/database.js';
import { migrate } from '../src/db/schema/migrate.js';
import { createLogger } from '../src/logger.js';
import { openServer } from './load/database.js';
import { usageOf } from './load/process-usage.js';

const GB = Number(process.env.BENCH_GB ?? 2);
const PASSPHRASE = process.env.BENCH_PASSPHRASE === 'on' ? 'correct horse battery' : '';
const ENTRY = join(__dirname, '..', 'dist', 'src', 'cli', 'muster.js');
const SAMPLE_MS = 100;
const STEP = 20_000;

const say = (text: string) => process.stdout.write(`${text}\n`);

/** Bytes that do not compress, as sealed ones: 32 for each digest. */
const random = (digests: number) =>
  `(select string_agg(sha256(convert_to(n || '/' || i || random(), 'UTF8')), '') from generate_series(1, ${digests}) i)`;

const DEVICES = `
insert into devices (udid, serial_number, platform, os_version, enrollment_state, is_enrolled, enrollment_number)
select gen_random_uuid()::text, 'BENCH' || n, 'iOS', '26.1', 'enrolled', true, 1
from generate_series(1, 10000) n`;
const COMMANDS = `
insert into commands (uuid, device_id, request_type, status, payload, result, queued_at, sent_at, acknowledged_at, ended_at)
select gen_random_uuid(), 1 + n % 10000, 'DeviceInformation', 'Acknowledged', ${random(16)}, ${random(40)},
  now(), now(), now(), now()
from generate_series(1, ${STEP}) n`;
const APPLICATIONS = `
insert into installed_applications (device_id, bundle_identifier, name, version, bundle_size)
select 1 + n % 10000, 'com.example.application.' || random(), 'An application of ' || n, '1.2.' || n, n * 1000
from generate_series(1, ${STEP}) n`;

async function sizeOf({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select pg_database_size(current_database()) as size');
  return Number(rows[0].size);
}

async function fill(db: Database): Promise<number> {
  await migrate(db, { logger: createLogger('error') });
  await db.pool.query(DEVICES);
  for (let size = 0; size < GB * 1e9; size = await sizeOf(db)) {
    await Promise.all([db.pool.query(COMMANDS), db.pool.query(APPLICATIONS)]);
  }
  await db.pool.query('checkpoint');
  return await sizeOf(db);
}

async function run(args: string[], env: Record<string, string>): Promise<string> {
  const started = performance.now();
  const child = spawn(process.execPath, [ENTRY, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let [peak, cpu, isOver] = [0, 0, false];
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const usage = usageOf(child.pid ?? 0);
    peak = Math.max(peak, usage?.peakMegabytes ?? 0);
    cpu = Math.max(cpu, usage?.cpuSeconds ?? 0);
    await Promise.race([ended, sleep(SAMPLE_MS)]);
  }
  if ((await ended) !== 0) throw new Error(`muster ${args.join(' ')} failed`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  return `${seconds} s, ${cpu.toFixed(1)} s of CPU, at most ${peak.toFixed(0)} MB of memory`;
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'));
  const server = await openServer(directory);
  const db = connectDatabase({ connectionString: server.url, applicationName: 'bench' });
  try {
    const size = await fill(db);
    say(`database: ${(size / 1e9).toFixed(2)} GB`);
    const env = { DATA_DIR: join(directory, 'data'), BACKUP_PASSPHRASE: PASSPHRASE };
    const file = join(directory, 'bench.backup');
    const backup = await run(['backup', file], { ...env, DATABASE_URL: server.url });
    say(`backup:   ${backup}; file of ${(statSync(file).size / 1e9).toFixed(2)} GB`);
    await db.pool.query('create database bench_restored');
    const url = new URL(server.url);
    url.pathname = '/bench_restored';
    say(`restore:  ${await run(['restore', file], { ...env, DATABASE_URL: url.href })}`);
  } finally {
    await db.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

void main();
