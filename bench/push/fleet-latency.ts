import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { ApiClient } from '../load/api-client.js';
import { type Quantiles, quantilesOf } from '../load/measure.js';
import { startServerProcess } from '../load/server-process.js';
import { until } from '../soak/scenario.js';

export interface FleetLatencyOptions {
  databaseUrl: string;
  directory: string;
  devices: number;
}

/** Milliseconds; simulated devices that connect only when pushed, each with one command. */
export interface FleetLatency {
  devices: number;
  /** How long the API took to queue them all. */
  enqueueMs: number;
  /** From the 201 to acknowledged_at. */
  fromAnswer: Quantiles;
  /** From queued_at to acknowledged_at, by the database's clock alone. */
  fromCommit: Quantiles;
  failures: number;
}

interface Answered {
  id: number;
  at: number;
}

interface Times {
  id: number;
  queued: number;
  acknowledged: number | null;
}

const LANES = 32;
const ENROLL_MS = 600_000;
const ANSWER_MS = 60_000;
const MUSTER = join(__dirname, '..', '..', 'dist', 'src', 'cli', 'muster.js');

const ENROLLED = `
select (select count(*) from devices where is_enrolled)::int as enrolled,
  (select count(*) from commands where is_pending or needs_handling)::int as waiting`;

const TIMES = `
select id::int as id, extract(epoch from queued_at)::float8 * 1000 as queued,
  extract(epoch from acknowledged_at)::float8 * 1000 as acknowledged
from commands where id = any($1::bigint[])`;

/** A server with LAB=on and its devices, each of which gets one command at the same time. */
export async function measureFleetLatency(options: FleetLatencyOptions): Promise<FleetLatency> {
  const { databaseUrl, directory, devices } = options;
  const token = randomBytes(24).toString('base64url');
  const server = await startServerProcess({
    databaseUrl,
    dataDir: directory,
    settings: { ADMIN_TOKEN: token, LAB: 'on', INVENTORY_INTERVAL: 'off' },
  });
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  const api = new ApiClient(server.port, token);
  const fleet = startFleet(server.port, options);
  try {
    await untilEnrolled(pool, fleet, devices);
    return await measure(pool, api);
  } finally {
    await stopFleet(fleet);
    api.close();
    await pool.end();
    await server.stop();
  }
}

function startFleet(port: number, { devices, directory }: FleetLatencyOptions): ChildProcess {
  const url = `http://127.0.0.1:${port}`;
  const args = ['simulate', '--push', '--forever', '--devices', String(devices), '--url', url];
  return spawn(process.execPath, [MUSTER, ...args], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function untilEnrolled(pool: pg.Pool, fleet: ChildProcess, devices: number): Promise<void> {
  const isEnrolled = async () => {
    if (fleet.exitCode !== null) throw new Error('the simulation has ended');
    const { rows } = await pool.query<{ enrolled: number; waiting: number }>(ENROLLED);
    return rows[0]?.enrolled === devices && rows[0].waiting === 0;
  };
  const wait = { what: `${devices} devices enroll`, ms: ENROLL_MS, everyMs: 500 };
  await until(isEnrolled, wait);
}

async function measure(pool: pg.Pool, api: ApiClient): Promise<FleetLatency> {
  const { rows } = await pool.query<{ id: number }>('select id::int as id from devices');
  const startedAt = performance.now();
  const answered = await queueAll(
    api,
    rows.map(({ id }) => id),
  );
  const enqueueMs = performance.now() - startedAt;
  const ids = answered.map(({ id }) => id);
  const times = async () => (await pool.query<Times>(TIMES, [ids])).rows;
  const isDone = async () => (await times()).every((row) => row.acknowledged !== null);
  const wait = { what: 'all are answered', ms: ANSWER_MS, everyMs: 200 };
  await until(isDone, wait).catch(() => undefined);
  const answeredAt = new Map(answered.map(({ id, at }) => [id, at]));
  const done = (await times()).flatMap(({ id, queued, acknowledged }) =>
    acknowledged === null ? [] : [{ queued, acknowledged, at: answeredAt.get(id) ?? Number.NaN }],
  );
  return {
    devices: ids.length,
    enqueueMs,
    fromAnswer: quantilesOf(done.map(({ acknowledged, at }) => acknowledged - at)),
    fromCommit: quantilesOf(done.map(({ acknowledged, queued }) => acknowledged - queued)),
    failures: ids.length - done.length,
  };
}

async function queueAll(api: ApiClient, ids: number[]): Promise<Answered[]> {
  const answered: Answered[] = [];
  let next = 0;
  const lane = async () => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      answered.push(await queueOne(api, id));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return answered;
}

async function queueOne(api: ApiClient, deviceId: number): Promise<Answered> {
  const { status, body } = await api.call({ method: 'POST', path: `/devices/test/${deviceId}` });
  if (status !== 201) throw new Error(`a command was refused with ${status}: ${body}`);
  const at = Date.now();
  const { data } = JSON.parse(body.toString('utf8')) as { data: { id: number } };
  return { id: data.id, at };
}

async function stopFleet(fleet: ChildProcess): Promise<void> {
  if (fleet.exitCode !== null || fleet.signalCode !== null) return;
  const ended = once(fleet, 'exit');
  fleet.kill('SIGINT');
  await ended;
}
