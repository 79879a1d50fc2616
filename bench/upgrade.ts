// npm run bench:upgrade. Migrates a database of the former release that was filled up, while connections
// write to the tables of devices as devices make Muster write. Shows for each step of the plan how long it
// took and how long the slowest of these writes waited. BENCH_DEVICES and BENCH_COMMANDS change the size;
// BENCH_RECORD=on keeps the times for `muster migrate --plan`, and the waits for a test that limits them.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectDatabase } from '../src/db/connection/database.js';
import { migrate } from '../src/db/schema/migrate.js';
import { planMigrations } from '../src/db/schema/migration-plan.js';
import {
  DirectoryMigrationSource,
  MIGRATIONS_DIRECTORY,
} from '../src/db/schema/migration-source.js';
import { createLogger } from '../src/logger.js';
import { makeBenchDirectory } from './load/bench-directory.js';
import { openServer } from './load/database.js';
import { readOptions } from './load/options.js';

readOptions({});

const DEVICES = Number(process.env.BENCH_DEVICES ?? 1_000_000);
const COMMANDS = Number(process.env.BENCH_COMMANDS ?? 1_000_000);
const WRITERS = 4;
const QUIET_MS = 5_000;
const RECORD = process.env.BENCH_RECORD === 'on';
const RECORDED = join(__dirname, '..', 'src', 'db', 'schema', 'measured-migrations.json');
const DUMP = join(__dirname, '..', 'test', 'fixtures', 'former-release', 'database.sql');

/** Without triggers: what they note is of no use here. */
const FILL = [
  'set session_replication_role = replica',
  `insert into devices (udid, serial_number, device_name, platform, is_enrolled, enrollment_state, last_seen)
   select gen_random_uuid()::text, 'BENCH' || n, 'Device ' || n, 'macOS', true, 'enrolled', now()
   from generate_series(1, ${DEVICES}) n`,
  `insert into commands (uuid, device_id, request_type, status, attempts, payload, result, queued_at,
     sent_at, acknowledged_at)
   select gen_random_uuid(), d.first + n % ${DEVICES}, 'DeviceInformation',
     case when n % 50 = 0 then 'Error' else 'Acknowledged' end, 1, decode(repeat('00', 300), 'hex'),
     decode(repeat('00', 900), 'hex'), now() - n * interval '5 seconds', now(), now()
   from generate_series(1, ${COMMANDS}) n, (select max(id) - ${DEVICES} + 1 as first from devices) d`,
  'set session_replication_role = default',
  'vacuum analyze',
];

/** A device that polls: its contact is noted, a command is queued, sent and answered. */
const WRITES = [
  'update devices set last_seen = now() where id = $1',
  `insert into commands (uuid, device_id, request_type, payload)
   values (gen_random_uuid(), $1, 'SecurityInfo', '')`,
  `update commands set status = 'Sent', sent_at = now() where device_id = $1 and status = 'Queued'`,
  `update commands set status = 'Acknowledged', acknowledged_at = now(), result = ''
   where device_id = $1 and status = 'Sent'`,
];

class Writers {
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[];
  #slowest = 0;
  #count = 0;

  constructor(url: string, devices: number[]) {
    this.#loops = Array.from({ length: WRITERS }, () => this.#write(url, devices));
  }

  /** What happened since it was asked before. */
  take(): { slowest: number; count: number } {
    const taken = { slowest: this.#slowest, count: this.#count };
    this.#slowest = 0;
    this.#count = 0;
    return taken;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
  }

  async #write(url: string, devices: number[]): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    while (!this.#stopping.signal.aborted) {
      const device = devices[Math.floor(Math.random() * devices.length)];
      for (const text of WRITES) {
        const started = performance.now();
        await client.query(text, [device]);
        this.#slowest = Math.max(this.#slowest, performance.now() - started);
        this.#count += 1;
      }
      await sleep(5);
    }
    await client.end();
  }
}

/** A directory with the migrations up to `last`. */
function directoryUpTo(parent: string, last: string): string {
  const directory = mkdtempSync(join(parent, 'migrations-'));
  const names = new DirectoryMigrationSource(MIGRATIONS_DIRECTORY).names();
  for (const name of names.filter((one) => one <= last)) {
    const path = JSON.stringify(join(MIGRATIONS_DIRECTORY, name));
    writeFileSync(join(directory, `${name}.js`), `module.exports = require(${path});\n`);
  }
  return directory;
}

async function fill(url: string): Promise<number[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(readFileSync(DUMP, 'utf8'));
  await client.query('set search_path = public');
  for (const statement of FILL) await client.query(statement);
  const { rows } = await client.query<{ id: string }>('select id from devices');
  await client.end();
  return rows.map(({ id }) => Number(id));
}

function show(what: string, ms: number, { slowest, count }: ReturnType<Writers['take']>): void {
  const waited = `slowest write ${slowest.toFixed(0)} ms of ${count}`;
  process.stdout.write(`${(ms / 1_000).toFixed(2).padStart(7)} s  ${waited.padEnd(36)}  ${what}\n`);
}

async function main(): Promise<void> {
  const directory = makeBenchDirectory();
  const server = await openServer(directory);
  const devices = await fill(server.url);
  process.stdout.write(`${devices.length} devices, ${COMMANDS} commands, ${WRITERS} writers\n`);
  const db = connectDatabase({ connectionString: server.url });
  const writers = new Writers(server.url, devices);
  await sleep(1_000);
  writers.take();
  await sleep(QUIET_MS);
  show('no migration', QUIET_MS, writers.take());
  const took: Record<string, number> = {};
  const slowestWrites: Record<string, number> = {};
  const logger = createLogger('info', {
    write: (line) => {
      const { migration, ms } = JSON.parse(line) as { migration?: string; ms: number };
      if (migration !== undefined) took[migration] = ms;
    },
  });
  for (const { migrations } of await planMigrations(db)) {
    const names = migrations.map(({ name }) => name);
    const upTo = directoryUpTo(directory, names.at(-1) ?? '');
    const started = performance.now();
    await migrate(db, { logger, directory: upTo });
    const taken = writers.take();
    show(names.join(', '), performance.now() - started, taken);
    for (const name of names) slowestWrites[name] = Math.round(taken.slowest);
  }
  await writers.stop();
  if (RECORD) {
    const recorded = {
      devices: DEVICES,
      commands: COMMANDS,
      ms: took,
      slowestWriteMs: slowestWrites,
    };
    writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
  }
  await db.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}

void main();
