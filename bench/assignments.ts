// npm run bench:assignments. How long a save of an assignment takes, how long until the commands of all
// its devices are queued, how long Idle polls of other devices take meanwhile, and the lists that an admin
// looks at afterwards. BENCH_DEVICES and BENCH_ITEMS change how many, BENCH_RATE the polls a second
// (0: none), BENCH_SECONDS how long they are measured before.

import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from './load/api-client.js';
import { besidePolls } from './load/beside-polls.js';
import { type BenchDatabase, openBenchDatabase } from './load/database.js';
import { createFleetSeed, type FleetSeed } from './load/fleet.js';
import { ms, quantilesOf } from './load/measure.js';
import { readOptions } from './load/options.js';
import { uploadProfile } from './load/profile-upload.js';
import { startServerProcess } from './load/server-process.js';
import { WorkerProcess } from './load/worker-process.js';

readOptions({});

const DEVICES = Number(process.env.BENCH_DEVICES ?? 20_000);
const ITEMS = Number(process.env.BENCH_ITEMS ?? 2);
const RATE = Number(process.env.BENCH_RATE ?? 500);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const POLLING = 1_000;
const CONNECTIONS = 64;
const READS = 200;
const TOKEN = 'benchmark-0123456789abcdef';

/** Devices without a push token: sending pushes is what `bench:push` measures. */
const FILL = `
insert into devices (udid, serial_number, platform, os_version, enrollment_state, is_enrolled,
  is_supervised, enrollment_number)
select gen_random_uuid()::text, 'BENCH' || n, 'iOS', '26.1', 'enrolled', true, true, 1
from generate_series(1, $1::int) n returning id`;
const TAGGED = 'insert into device_tags (device_id, tag_id) select unnest($1::bigint[]), $2';
const QUEUED = `
select count(*)::int as count from commands where request_type = 'InstallProfile' and is_pending`;

const OF_DEVICE = `
select from commands c join device_items i on i.command_id = c.id
where c.device_id = $1 and i.profile_id = $2`;

const say = (text: string) => process.stdout.write(`${text}\n`);

interface Fixture {
  database: BenchDatabase;
  api: ApiClient;
  tag: number;
  devices: number[];
}

async function assign({ api, tag }: Fixture, profile: number): Promise<void> {
  const relationships = {
    profile: { data: { type: 'profiles', id: profile } },
    tag: { data: { type: 'tags', id: tag } },
  };
  const body = { data: { type: 'assignments', relationships }, meta: { confirm: DEVICES } };
  const reply = await api.call({ method: 'POST', path: '/assignments', body });
  if (reply.status !== 201) throw new Error(`assignment: ${reply.status} ${reply.body}`);
}

async function queued({ database }: Fixture, least: number): Promise<void> {
  for (;;) {
    const { rows } = await database.db.pool.query<{ count: number }>(QUEUED);
    if ((rows[0]?.count ?? 0) >= least) return;
    await sleep(50);
  }
}

async function fanOut(fixture: Fixture): Promise<void> {
  const startedAt = performance.now();
  for (let n = 0; n < ITEMS; n += 1) {
    const profile = await uploadProfile(fixture.api, n);
    const at = performance.now();
    await assign(fixture, profile);
    const saved = performance.now() - at;
    await queued(fixture, DEVICES * (n + 1));
    say(`item ${n + 1}: saved in ${ms(saved)}, ${DEVICES} queued in ${ms(performance.now() - at)}`);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  say(`${DEVICES} devices x ${ITEMS} items queued in ${seconds.toFixed(1)} s`);
}

async function timeOf(path: (n: number) => string, { api }: Fixture): Promise<string> {
  const times: number[] = [];
  for (let n = 0; n < READS; n += 1) {
    const at = performance.now();
    const { status } = await api.call({ path: path(n) });
    if (status !== 200) throw new Error(`${path(n)}: ${status}`);
    times.push(performance.now() - at);
  }
  const { p50, p95 } = quantilesOf(times);
  return `p50 ${ms(p50)} p95 ${ms(p95)}`;
}

async function lists(fixture: Fixture): Promise<void> {
  const { database, devices } = fixture;
  await database.db.pool.query('vacuum (analyze) device_items, commands');
  const any = (n: number) => devices[(n * 7_919) % devices.length];
  say(`devices/{id}/items: ${await timeOf((n) => `/devices/${any(n)}/items`, fixture)}`);
  for (const state of ['pending', 'sent', 'failed', 'verified']) {
    const path = `/device_items?filter[state]=${state}&page[size]=100`;
    say(`100 items ${state}: ${await timeOf(() => path, fixture)}`);
  }
}

async function oneTag(fixture: Fixture): Promise<void> {
  const { database, api, devices } = fixture;
  const { pool } = database.db;
  const { rows } = await pool.query<{ id: number }>(
    `insert into tags (name) values ('late') returning id`,
  );
  const late = Number(rows[0]?.id);
  const profile = await uploadProfile(fixture.api, ITEMS);
  await assign({ ...fixture, tag: late }, profile);
  await sleep(1_000);
  const times: number[] = [];
  for (const device of devices.slice(0, 10)) {
    const at = performance.now();
    const body = { data: [{ type: 'tags', id: late }] };
    const path = `/devices/${device}/relationships/tags`;
    const { status } = await api.call({ method: 'POST', path, body });
    if (status >= 300) throw new Error(`tag: ${status}`);
    while ((await pool.query(OF_DEVICE, [device, profile])).rowCount === 0) await sleep(5);
    times.push(performance.now() - at);
  }
  say(`one device's tag changed, command queued: p50 ${ms(quantilesOf(times).p50)}`);
}

async function fill({ db }: BenchDatabase): Promise<{ tag: number; devices: number[] }> {
  const { rows } = await db.pool.query<{ id: number }>(FILL, [DEVICES]);
  const devices = rows.map(({ id }) => id);
  const tags = await db.pool.query<{ id: number }>(
    `insert into tags (name) values ('bench') returning id`,
  );
  const tag = Number(tags.rows[0]?.id);
  await db.pool.query(TAGGED, [devices, tag]);
  await db.pool.query('vacuum (analyze)');
  return { tag, devices };
}

async function run(database: BenchDatabase, seed: FleetSeed): Promise<void> {
  const { url: databaseUrl, directory: dataDir } = database;
  const server = await startServerProcess({
    databaseUrl,
    dataDir,
    settings: { ADMIN_TOKEN: TOKEN },
  });
  const { port } = server;
  const worker = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  const api = new ApiClient(port, TOKEN);
  try {
    await worker.prepare({ kind: 'enroll', from: 0, to: POLLING });
    await worker.run();
    const fixture = { database, api, ...(await fill(database)) };
    await database.db.pool.query('delete from commands');
    const task = { kind: 'idle-rate', to: POLLING, seconds: SECONDS, rate: RATE } as const;
    if (RATE > 0) await worker.prepare(task);
    if (RATE > 0) say(await besidePolls(worker, () => fanOut(fixture)));
    else await fanOut(fixture);
    await lists(fixture);
    await oneTag(fixture);
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
