import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ApiClient } from '../load/api-client.js';
import { emptyQueues, trustFleet } from '../load/database.js';
import { BenchFleet, createFleetSeed } from '../load/fleet.js';
import { type ServerProcess, startServerProcess } from '../load/server-process.js';
import { commandFor } from './enqueue.js';
import type { ScenarioResult } from './scenario.js';
import { type Ports, SwitchingDevice } from './switching-device.js';

export interface TwoProcessesOptions {
  /** An empty database, migrated or not. */
  databaseUrl: string;
  devices: number;
  commandsPerDevice: number;
}

interface Served {
  servers: ServerProcess[];
  /** Where the two processes listen; the replacement of a killed one takes its place. */
  ports: Ports;
  start(): Promise<ServerProcess>;
  adminToken: string;
}

/** A Mac can take it, and its answer leads to nothing further. */
const REQUEST_TYPE = 'ContentCachingInformation';
const LANES = 8;
const KILL_SHARE = 0.4;
const MAX_WAIT_MS = 120_000;

/**
 * Two processes serve one fleet, whose devices send each message to the other one than the last.
 * One is killed in the middle and replaced. Each command reaches its device once, and none is lost.
 */
export async function twoProcesses(options: TwoProcessesOptions): Promise<ScenarioResult> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-two-'));
  const seed = await createFleetSeed(options.devices);
  await trustFleet(options.databaseUrl, seed);
  const served = await serve(options.databaseUrl, directory);
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(MAX_WAIT_MS)]);
  try {
    const fleet = new BenchFleet(seed).devices(0, options.devices);
    const devices = fleet.map(
      (device, index) => new SwitchingDevice(device, served.ports, index, signal),
    );
    await Promise.all(devices.map((device) => device.enroll()));
    await emptyQueues(options.databaseUrl);
    return await run(options, served, devices, signal);
  } finally {
    over.abort();
    for (const server of served.servers) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function serve(databaseUrl: string, dataDir: string): Promise<Served> {
  const adminToken = randomBytes(24).toString('base64url');
  const settings = {
    ADMIN_TOKEN: adminToken,
    MASTER_KEY: randomBytes(32).toString('base64'),
    INVENTORY_INTERVAL: 'off',
    LOG_LEVEL: process.env.SOAK_LOG_LEVEL ?? 'fatal',
  };
  const servers: ServerProcess[] = [];
  const start = async () => {
    const server = await startServerProcess({ databaseUrl, dataDir, settings });
    servers.push(server);
    return server;
  };
  const [first, second] = [await start(), await start()];
  return { servers, ports: [first.port, second.port], start, adminToken };
}

async function run(
  options: TwoProcessesOptions,
  served: Served,
  devices: readonly SwitchingDevice[],
  signal: AbortSignal,
): Promise<ScenarioResult> {
  const { databaseUrl, commandsPerDevice } = options;
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  try {
    const { rows } = await pool.query<{ id: string; udid: string }>('select id, udid from devices');
    const idOf = new Map(rows.map(({ id, udid }) => [udid, Number(id)]));
    const expected = devices.length * commandsPerDevice;
    const startedAt = performance.now();
    const ids = devices.flatMap(({ udid }) => idOf.get(udid) ?? []);
    const [repeated, awaySeconds] = await Promise.all([
      enqueueAtBoth(served, ids, commandsPerDevice, signal),
      replaceFirst(served, devices, expected * KILL_SHARE, signal),
      ...devices.map((device) => device.answerAll(commandsPerDevice)),
    ]);
    const seconds = (performance.now() - startedAt) / 1000;
    return await judge(pool, devices, { expected, repeated, awaySeconds, seconds });
  } finally {
    await pool.end();
  }
}

/** kill -9 of the first process once so many commands were answered. Returns how long it is away. */
async function replaceFirst(
  { servers, ports, start }: Served,
  devices: readonly SwitchingDevice[],
  answers: number,
  signal: AbortSignal,
): Promise<number> {
  const answered = () => devices.reduce((sum, device) => sum + device.answered, 0);
  while (answered() < answers) await sleep(5, undefined, { signal });
  const killedAt = performance.now();
  await servers[0]?.kill();
  ports[0] = (await start()).port;
  return (performance.now() - killedAt) / 1000;
}

/** `count` commands for each device, by turns at both processes. Returns how many were sent again. */
async function enqueueAtBoth(
  { ports, adminToken }: Served,
  ids: readonly number[],
  count: number,
  signal: AbortSignal,
): Promise<number> {
  const calls = Array.from({ length: count }, () => ids).flat();
  const clients = new Map<number, ApiClient>();
  const clientOf = (port: number) => {
    const client = clients.get(port) ?? new ApiClient(port, adminToken);
    clients.set(port, client);
    return client;
  };
  let next = 0;
  let repeated = 0;
  const lane = async () => {
    for (let call = next++; call < calls.length; call = next++) {
      const body = commandFor(calls[call] ?? 0, REQUEST_TYPE);
      const headers = { 'Idempotency-Key': `two-processes-${call}` };
      for (let turn = call; ; turn += 1) {
        const client = clientOf(ports[turn % 2] ?? 0);
        const sent = client.call({ method: 'POST', path: '/commands', body, headers });
        const { status } = await sent.catch(() => ({ status: 0 }));
        if (status === 201) break;
        // 409: the killed process had not finished the request of this key.
        if (status !== 0 && status !== 409 && status < 500) {
          throw new Error(`a command was refused with ${status}`);
        }
        repeated += 1;
        await sleep(50, undefined, { signal });
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  for (const client of clients.values()) client.close();
  return repeated;
}

async function judge(
  pool: pg.Pool,
  devices: readonly SwitchingDevice[],
  counted: { expected: number; repeated: number; awaySeconds: number; seconds: number },
): Promise<ScenarioResult> {
  const { expected, ...figures } = counted;
  const { rows } = await pool.query<{ commands: number; acknowledged: number }>(
    `select count(*)::int as commands,
       (count(*) filter (where status = 'Acknowledged'))::int as acknowledged from commands`,
  );
  const { commands = 0, acknowledged = 0 } = rows[0] ?? {};
  const total = (of: (device: SwitchingDevice) => number) =>
    devices.reduce((sum, device) => sum + of(device), 0);
  const again = total((device) => device.deliveredAgain);
  const answered = total((device) => device.answered);
  const faults: [boolean, string][] = [
    [commands !== expected, `${commands} commands are stored, not ${expected}`],
    [acknowledged !== expected, `${expected - acknowledged} commands have no answer`],
    [answered !== expected, `devices have answered ${answered} commands, not ${expected}`],
    [again > 0, `${again} commands were sent again after their answer was taken`],
  ];
  return {
    name: 'two processes serve one fleet, kill -9 of one',
    broken: faults.filter(([isSo]) => isSo).map(([, words]) => words),
    figures: {
      answered,
      resent: total((device) => device.resent),
      ...figures,
      perSecond: expected / figures.seconds,
    },
  };
}
