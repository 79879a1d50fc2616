import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { ApiClient } from '../load/api-client.js';
import { makeBenchDirectory } from '../load/bench-directory.js';
import { emptyQueues, trustFleet } from '../load/database.js';
import { BenchFleet, createFleetSeed } from '../load/fleet.js';
import { type ServerProcess, startServerProcess } from '../load/server-process.js';
import { commandFor } from './enqueue.js';
import type { ScenarioResult } from './scenario.js';
import { type Ports, SwitchingDevice } from './switching-device.js';

export interface ServedFleetOptions {
  name: string;
  /** An empty database, migrated or not. */
  databaseUrl: string;
  devices: number;
  commandsPerDevice: number;
  /** Runs when two fifths of the commands are answered. Returns figures. */
  disturb(served: Served): Promise<Record<string, number>>;
}

export interface Served {
  servers: ServerProcess[];
  /** Where the two processes listen; the replacement of one takes its place. */
  ports: Ports;
  /** A further process on the same database. */
  start(): Promise<ServerProcess>;
  /** How many commands are answered so far. */
  answered(): number;
}

interface Fleet extends Served {
  adminToken: string;
  devices: readonly SwitchingDevice[];
  /** Ends what is under way. */
  signal: AbortSignal;
}

/** A Mac accepts it, and its answer leads to nothing further. */
const REQUEST_TYPE = 'ContentCachingInformation';
const LANES = 8;
const RETRY_MS = 50;
const DISTURBED_AT = 0.4;
const MAX_WAIT_MS = 180_000;

/**
 * Two processes serve one fleet, whose devices send each message to the other one than the last.
 * Whatever `disturb` breaks, each command reaches its device once, and none is lost.
 */
export async function servedFleet(options: ServedFleetOptions): Promise<ScenarioResult> {
  const dataDir = makeBenchDirectory('muster-fleet-');
  const seed = await createFleetSeed(options.devices);
  await trustFleet(options.databaseUrl, seed);
  const adminToken = randomBytes(24).toString('base64url');
  const { servers, start } = processesOf({ ...options, dataDir, adminToken });
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(MAX_WAIT_MS)]);
  try {
    const ports: Ports = [(await start()).port, (await start()).port];
    const devices = new BenchFleet(seed)
      .devices(0, options.devices)
      .map((device, index) => new SwitchingDevice(device, ports, index, signal));
    await Promise.all(devices.map((device) => device.enroll()));
    await emptyQueues(options.databaseUrl);
    const answered = () => totalOf(devices, (device) => device.answered);
    return await run(options, { servers, ports, start, answered, adminToken, devices, signal });
  } finally {
    over.abort();
    for (const server of servers) await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function processesOf(options: { databaseUrl: string; dataDir: string; adminToken: string }) {
  const { databaseUrl, dataDir, adminToken } = options;
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
  return { servers, start };
}

async function run(options: ServedFleetOptions, fleet: Fleet): Promise<ScenarioResult> {
  const { databaseUrl, commandsPerDevice } = options;
  const { devices } = fleet;
  const expected = devices.length * commandsPerDevice;
  const calls = await callsFor(options, devices);
  const startedAt = performance.now();
  const [repeated, disturbed] = await Promise.all([
    enqueueByTurns(fleet, calls),
    disturbOnce(options, fleet, expected * DISTURBED_AT),
    ...devices.map((device) => device.answerAll(commandsPerDevice)),
  ]);
  const seconds = (performance.now() - startedAt) / 1000;
  const figures = {
    answered: fleet.answered(),
    resent: totalOf(devices, (device) => device.resent),
    repeated,
    ...disturbed,
    seconds,
  };
  const broken = await brokenPromises(databaseUrl, fleet, expected);
  return { name: options.name, broken, figures };
}

async function disturbOnce(
  { disturb }: ServedFleetOptions,
  fleet: Fleet,
  answers: number,
): Promise<Record<string, number>> {
  while (fleet.answered() < answers) await sleep(5, undefined, { signal: fleet.signal });
  return await disturb(fleet);
}

/** Ids of devices: all of them, as often as each gets a command. */
async function callsFor(
  { databaseUrl, commandsPerDevice }: ServedFleetOptions,
  devices: readonly SwitchingDevice[],
): Promise<number[]> {
  const rows = await query<{ id: string; udid: string }>(
    databaseUrl,
    'select id, udid from devices',
  );
  const idOf = new Map(rows.map(({ id, udid }) => [udid, Number(id)]));
  const ids = devices.flatMap(({ udid }) => idOf.get(udid) ?? []);
  return Array.from({ length: commandsPerDevice }, () => ids).flat();
}

/** A command for each call, by turns at both processes. Returns how many were sent again. */
async function enqueueByTurns(fleet: Fleet, calls: readonly number[]): Promise<number> {
  const { ports, adminToken, signal } = fleet;
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
      for (let turn = call; !(await isAccepted(clientOf(ports[turn % 2] ?? 0), call)); turn += 1) {
        repeated += 1;
        await sleep(RETRY_MS, undefined, { signal });
      }
    }
  };
  const isAccepted = async (client: ApiClient, call: number) => {
    const body = commandFor(calls[call] ?? 0, REQUEST_TYPE);
    const headers = { 'Idempotency-Key': `fleet-${call}` };
    const sent = client.call({ method: 'POST', path: '/commands', body, headers });
    const { status } = await sent.catch(() => ({ status: 0 }));
    if (status !== 201 && status !== 0 && status < 500) {
      throw new Error(`a command was refused with ${status}`);
    }
    return status === 201;
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  for (const client of clients.values()) client.close();
  return repeated;
}

async function brokenPromises(
  databaseUrl: string,
  { devices, answered }: Fleet,
  expected: number,
): Promise<string[]> {
  const [stored] = await query<{ commands: number; acknowledged: number }>(
    databaseUrl,
    `select count(*)::int as commands,
       (count(*) filter (where status = 'Acknowledged'))::int as acknowledged from commands`,
  );
  const { commands = 0, acknowledged = 0 } = stored ?? {};
  const again = totalOf(devices, (device) => device.deliveredAgain);
  const faults: [boolean, string][] = [
    [commands !== expected, `${commands} commands are stored, not ${expected}`],
    [acknowledged !== expected, `${expected - acknowledged} commands have no answer`],
    [answered() !== expected, `devices have answered ${answered()} commands, not ${expected}`],
    [again > 0, `${again} commands were sent again after their answer was taken`],
  ];
  return faults.filter(([isSo]) => isSo).map(([, words]) => words);
}

async function query<Row extends pg.QueryResultRow>(
  connectionString: string,
  text: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

function totalOf(
  devices: readonly SwitchingDevice[],
  of: (device: SwitchingDevice) => number,
): number {
  return devices.reduce((sum, device) => sum + of(device), 0);
}
