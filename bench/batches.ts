// npm run bench:batches. How long a dry run and a save of a command batch take, how many commands a second are
// queued, alone and beside Idle polls of other devices, and how long until the counts are right. BENCH_DEVICES
// changes how many, BENCH_RATE the polls a second, BENCH_SECONDS how long they are measured before,
// BENCH_FINISHED how many finished commands there are already.

import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from './load/api-client.js';
import { besidePolls } from './load/beside-polls.js';
import { type BenchDatabase, openBenchDatabase } from './load/database.js';
import { createFleetSeed, type FleetSeed } from './load/fleet.js';
import { ms } from './load/measure.js';
import { readOptions } from './load/options.js';
import { uploadProfile } from './load/profile-upload.js';
import { startServerProcess } from './load/server-process.js';
import { WorkerProcess } from './load/worker-process.js';

readOptions({});

const DEVICES = Number(process.env.BENCH_DEVICES ?? 100_000);
const RATE = Number(process.env.BENCH_RATE ?? 1_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const FINISHED = Number(process.env.BENCH_FINISHED ?? 0);
const POLLING = 1_000;
const CONNECTIONS = 64;
const TOKEN = 'benchmark-0123456789abcdef';

/** Devices without a push token: sending pushes is what `bench:push` measures. */
const FILL = `
insert into devices (udid, serial_number, platform, os_version, enrollment_state, is_enrolled,
  is_supervised, enrollment_number)
select gen_random_uuid()::text, 'BENCH' || n, 'iOS', '26.1', 'enrolled', true, true, 1
from generate_series(1, $1::int) n returning id`;
const TAGGED = 'insert into device_tags (device_id, tag_id) select unnest($1::bigint[]), $2';
const HISTORY = `
insert into commands (uuid, device_id, request_type, status, payload, queued_at, acknowledged_at)
select gen_random_uuid(), $1::bigint + n % $2::int, 'DeviceInformation', 'Acknowledged', '', now(), now()
from generate_series(1, $3::int) n`;

const say = (text: string) => process.stdout.write(`${text}\n`);

interface Fixture {
  database: BenchDatabase;
  api: ApiClient;
  tag: number;
}

interface Order {
  name: string;
  path: string;
  attributes: object;
}

const COMMANDS: Order[] = [
  {
    name: 'the same for all',
    path: '/command_batches',
    attributes: {
      request_type: 'DeviceInformation',
      parameters: { Queries: ['OSVersion', 'DeviceName'] },
    },
  },
  {
    name: 'with values of each',
    path: '/command_batches',
    attributes: {
      request_type: 'Settings',
      parameters: { Settings: [{ Item: 'DeviceName', DeviceName: 'School $SERIAL' }] },
    },
  },
];

/** Each profile is installed by one batch only: a second one would find its commands under way. */
async function profileOrders(api: ApiClient, first: number): Promise<Order[]> {
  const plain = await uploadProfile(api, first);
  const rendered = await uploadProfile(api, first + 1, 'School $SERIAL');
  const path = (profile: number, verb: string) => `/profiles/${profile}/${verb}`;
  return [
    { name: 'a profile', path: path(plain, 'install'), attributes: {} },
    { name: 'a profile with values', path: path(rendered, 'install'), attributes: {} },
    { name: 'a profile removed', path: path(plain, 'remove'), attributes: {} },
  ];
}

function documentFor(tag: number, { attributes }: Order) {
  const relationships = { tags: { data: [{ type: 'tags', id: tag }] } };
  return {
    data: { type: 'command_batches', attributes, relationships },
    meta: { confirm: DEVICES },
  };
}

/** Posts the batch and waits until its commands are queued. */
async function post({ api, tag }: Fixture, order: Order, query = ''): Promise<number> {
  const body = documentFor(tag, order);
  const reply = await api.call({ method: 'POST', path: `${order.path}${query}`, body });
  if (reply.status !== (query === '' ? 202 : 200)) {
    throw new Error(`batch: ${reply.status} ${reply.body}`);
  }
  return query === '' ? JSON.parse(reply.body.toString()).data.id : 0;
}

async function untilExpanded({ database }: Fixture, id: number): Promise<void> {
  const text = 'select from command_batches where id = $1 and expanded_at is not null';
  while ((await database.db.pool.query(text, [id])).rowCount === 0) await sleep(20);
}

async function expand(fixture: Fixture, order: Order): Promise<void> {
  const dry = performance.now();
  await post(fixture, order, '?dry_run=true');
  const at = performance.now();
  const id = await post(fixture, order);
  const saved = performance.now() - at;
  await untilExpanded(fixture, id);
  const took = performance.now() - at;
  say(
    `${order.name}: dry run ${ms(at - dry)}, saved in ${ms(saved)}, ` +
      `${Math.round((DEVICES * 1000) / (took - saved))} commands/s`,
  );
}

async function fill({ db }: BenchDatabase): Promise<{ tag: number }> {
  const { rows } = await db.pool.query<{ id: number }>(FILL, [DEVICES]);
  const devices = rows.map(({ id }) => id);
  const tags = await db.pool.query<{ id: number }>(
    `insert into tags (name) values ('bench') returning id`,
  );
  const tag = Number(tags.rows[0]?.id);
  await db.pool.query(TAGGED, [devices, tag]);
  const session = await db.pool.connect();
  await session.query('set statement_timeout = 0');
  // Without triggers: they note what happens to commands that wait.
  await session.query('set session_replication_role = replica');
  for (let n = 0; n < FINISHED; n += 500_000) {
    await session.query(HISTORY, [devices[0], DEVICES, Math.min(500_000, FINISHED - n)]);
  }
  await session.query('set session_replication_role = default');
  await session.query('vacuum (analyze)');
  await session.query('checkpoint');
  session.release(true);
  return { tag };
}

async function run(database: BenchDatabase, seed: FleetSeed): Promise<void> {
  const { url: databaseUrl, directory: dataDir } = database;
  const settings = { ADMIN_TOKEN: TOKEN };
  const server = await startServerProcess({ databaseUrl, dataDir, settings });
  const { port } = server;
  const worker = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  const api = new ApiClient(port, TOKEN);
  try {
    await worker.prepare({ kind: 'enroll', from: 0, to: POLLING });
    await worker.run();
    await database.db.pool.query('delete from commands');
    const fixture = { database, api, ...(await fill(database)) };
    say(`${DEVICES} devices, ${FINISHED} finished commands; alone:`);
    for (const order of [...COMMANDS, ...(await profileOrders(api, 1))])
      await expand(fixture, order);
    if (RATE === 0) return;
    say(`beside ${RATE} Idle/s:`);
    await worker.prepare({ kind: 'idle-rate', to: POLLING, seconds: SECONDS, rate: RATE });
    for (const order of [...COMMANDS, ...(await profileOrders(api, 3))]) {
      say(await besidePolls(worker, () => expand(fixture, order)));
    }
  } finally {
    api.close();
    await worker.stop();
    await server.kill();
  }
}

async function main(): Promise<void> {
  const seed = await createFleetSeed();
  const database = await openBenchDatabase(seed);
  try {
    await run(database, seed);
  } finally {
    await database.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
