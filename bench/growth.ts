// npm run bench:growth -- --devices 200 --days 30 --kept 10. What a fleet with a daily inventory adds to the
// database: simulated devices answer one inventory after the other, each a "day"; what ended more than
// `kept` of them ago is removed, as COMMAND_RETENTION does. Prints the size of the large tables once it no
// longer grows, and what that is for 100,000 devices with 90 days. On each day some applications of each
// device get another version (--changes).
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { CommandQueue } from '../src/commands/queue.js';
import { SecretBox } from '../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../src/db/connection/unit-of-work.js';
import { FROM_THE_OLDEST, removeOldCommands } from '../src/db/devices/command-retention.js';
import { claimInventoryDue } from '../src/db/jobs/maintenance-repository.js';
import { makeBenchDirectory } from './load/bench-directory.js';
import { joinEmbedded } from './load/database.js';
import { readOptions } from './load/options.js';
import { startServerProcess } from './load/server-process.js';
import { until } from './soak/scenario.js';

const options = readOptions({
  devices: 200,
  days: 30,
  kept: 10,
  changes: 1,
});
const DEVICES = options.devices;
const DAYS = options.days;
const KEPT = options.kept;
const CHANGES = options.changes;

const FLEET = 100_000;
const HISTORY_DAYS = 90;
const DAY_MS = 600_000;
/** Commands of as many devices are a hundredth of all kept: autovacuum begins at as much (migrations). */
const AT_ONCE = Math.max(1, Math.round((DEVICES * KEPT) / 100));
const MUSTER = join(__dirname, '..', 'dist', 'src', 'cli', 'muster.js');

type Bench = Awaited<ReturnType<typeof joinEmbedded>>;

const say = (text: string) => process.stdout.write(`${text}\n`);

async function count({ db }: Bench, text: string): Promise<number> {
  return Number((await db.pool.query<{ n: string }>(text)).rows[0]?.n);
}

const OPEN = 'select count(*) as n from commands where is_pending or needs_handling';

async function untilAnswered(bench: Bench): Promise<void> {
  const isSo = async () => (await count(bench, OPEN)) === 0;
  await until(isSo, { what: 'all commands are answered', ms: DAY_MS, everyMs: 50 });
}

const CHANGE = `
update installed_applications a set
  version = coalesce(a.version, '') || '.1', short_version = coalesce(a.short_version, '') || '.1'
from (
  select id, row_number() over (partition by device_id order by random()) as place
  from installed_applications) p
where p.id = a.id and p.place <= $1`;

/** One inventory of every device, as inventory.refresh queues it. */
async function passDay(bench: Bench, queue: CommandQueue): Promise<void> {
  await bench.db.pool.query(CHANGE, [CHANGES]);
  for (let left = DEVICES; left > 0; left -= AT_ONCE) {
    await inTransaction(bench.db, async (trx) => {
      const due = await claimInventoryDue(trx, { age: 0, limit: Math.min(left, AT_ONCE) });
      await queue.queueInventories(trx, due, { spreadMs: 0 });
    });
    await untilAnswered(bench);
    await bench.db.pool.query('vacuum commands, installed_applications, devices');
  }
}

async function removeOld({ db }: Bench, age: number): Promise<void> {
  let after: typeof FROM_THE_OLDEST | undefined = FROM_THE_OLDEST;
  while (after !== undefined) {
    after = (await removeOldCommands(db.knex, { age, limit: 500, after })).next;
  }
  await db.pool.query('vacuum (analyze)');
}

const SIZES = `
select c.relname as table, pg_table_size(c.oid)::float8 as rows,
  pg_indexes_size(c.oid)::float8 as indexes
from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
order by pg_total_relation_size(c.oid) desc limit 8`;

interface Size {
  table: string;
  /** Bytes, of the rows with what is stored beside them, and of the indexes. */
  rows: number;
  indexes: number;
}

const DATABASE = 'select pg_database_size(current_database()) as n';

/** `empty`: bytes of the database before its first device. */
async function report(bench: Bench, empty: number): Promise<void> {
  const { rows: sizes } = await bench.db.pool.query<Size>(SIZES);
  const commands = await count(bench, 'select count(*) as n from commands');
  const applications = await count(bench, 'select count(*) as n from installed_applications');
  const changes = await count(bench, 'select count(*) as n from device_changes');
  say(
    `${DEVICES} devices: ${commands} commands of ${KEPT} days (${(commands / DEVICES / KEPT).toFixed(1)} a ` +
      `device and day), ${(applications / DEVICES).toFixed(0)} applications a device, ` +
      `${(changes / DEVICES / DAYS).toFixed(1)} changes a device and day`,
  );
  for (const { table, rows, indexes } of sizes) {
    const each = (bytes: number) => `${(bytes / DEVICES / 1e3).toFixed(1)} kB`;
    say(`${table}: ${each(rows)} a device, indexes ${each(indexes)}`);
  }
  const sizeOf = (name: string) => {
    const size = sizes.find(({ table }) => table === name);
    return (size?.rows ?? 0) + (size?.indexes ?? 0);
  };
  const all = (await count(bench, DATABASE)) - empty;
  const history = sizeOf('commands');
  const ofHistory = (history / DEVICES / KEPT) * HISTORY_DAYS;
  const ofChanges = (sizeOf('device_changes') / DEVICES / DAYS) * 2 * HISTORY_DAYS;
  const rest = (all - history - sizeOf('device_changes')) / DEVICES;
  const gigabytes = (bytes: number) => ((bytes * FLEET) / 1e9).toFixed(1);
  say(`a command: ${Math.round(history / commands)} bytes with its indexes`);
  say(
    `${FLEET} devices: commands of ${HISTORY_DAYS} days ${gigabytes(ofHistory)} GB, changes of ` +
      `${2 * HISTORY_DAYS} days ${gigabytes(ofChanges)} GB, the rest ${gigabytes(rest)} GB`,
  );
}

function startFleet(port: number): ChildProcess {
  const url = `http://localhost:${port}`;
  const pace = ['--poll-interval', '0.5', '--concurrency', '16'];
  const args = ['simulate', '--devices', String(DEVICES), '--forever', '--url', url, ...pace];
  return spawn(process.execPath, [MUSTER, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}

async function measure(bench: Bench, empty: number): Promise<void> {
  const enrolled = 'select count(*) as n from devices where is_enrolled';
  const isSo = async () => (await count(bench, enrolled)) === DEVICES;
  await until(isSo, { what: 'every device is enrolled', ms: DAY_MS, everyMs: 200 });
  await untilAnswered(bench);
  const queue = new CommandQueue(new SecretBox(Buffer.alloc(32, 7)));
  queue.sharesPayloads = true;
  const begun: number[] = [];
  const before = await count(bench, `select pg_current_wal_lsn() - '0/0' as n`);
  for (let day = 0; day < DAYS; day += 1) {
    begun.push(Date.now());
    await passDay(bench, queue);
    const oldest = begun.at(-KEPT);
    if (oldest !== undefined) await removeOld(bench, Date.now() - oldest);
  }
  const wal = (await count(bench, `select pg_current_wal_lsn() - '0/0' as n`)) - before;
  await report(bench, empty);
  say(`WAL: ${(wal / DEVICES / DAYS / 1e3).toFixed(1)} kB a device and day`);
}

async function main(): Promise<void> {
  const directory = makeBenchDirectory();
  const settings = { INVENTORY_INTERVAL: 'off' };
  const server = await startServerProcess({ databaseUrl: '', dataDir: directory, settings });
  const bench = await joinEmbedded(directory);
  const empty = await count(bench, DATABASE);
  const fleet = startFleet(server.port);
  try {
    await measure(bench, empty);
  } finally {
    const ended = once(fleet, 'exit');
    fleet.kill('SIGTERM');
    await ended;
    await bench.stop();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
