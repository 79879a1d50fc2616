// npm run bench:backup. How long `muster backup` and `muster restore` take, how large the file is and how much
// memory and CPU each takes, for a database of BENCH_GB gigabytes (2): commands with sealed payloads and results, which no
// compression makes smaller than their bytes, and inventories. BENCH_PASSPHRASE=on encrypts it.

import { spawn } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase } from '../src/db/connection/database.js';
import { migrate } from '../src/db/schema/migrate.js';
import { createLogger } from '../src/logger.js';
import { fillToGigabytes } from './data/bulky-rows.js';
import { makeBenchDirectory } from './load/bench-directory.js';
import { openServer } from './load/database.js';
import { readOptions } from './load/options.js';
import { usageOf } from './load/process-usage.js';

readOptions({});

const GB = Number(process.env.BENCH_GB ?? 2);
const PASSPHRASE = process.env.BENCH_PASSPHRASE === 'on' ? 'correct horse battery' : '';
const ENTRY = join(__dirname, '..', 'dist', 'src', 'cli', 'muster.js');
const SAMPLE_MS = 100;

const say = (text: string) => process.stdout.write(`${text}\n`);

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
  const directory = makeBenchDirectory();
  const server = await openServer(directory);
  const db = connectDatabase({ connectionString: server.url, applicationName: 'bench' });
  try {
    await migrate(db, { logger: createLogger('error') });
    const size = await fillToGigabytes(db, GB);
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
