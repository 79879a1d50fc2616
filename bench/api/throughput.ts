import { randomUUID } from 'node:crypto';
import type { ApiCall } from '../load/api-client.js';
import { HttpConnection } from '../load/http-connection.js';
import { type Measured, runLanes } from '../load/measure.js';
import { usageOf, usageOfFamily } from '../load/process-usage.js';
import type { Samples } from './samples.js';

export interface ThroughputOptions {
  port: number;
  /** Process id of the server. */
  pid: number;
  /** Process id of PostgreSQL; undefined if it runs elsewhere. */
  databasePid: number | undefined;
  token: string;
  connections: number;
  seconds: number;
}

export interface Throughput extends Measured {
  /** CPU time of the server; on a busy machine it is more reliable than the rate. */
  cpuMsPerRequest: number;
  /** The same of PostgreSQL, with what it does in the background. */
  databaseMsPerRequest: number;
}

/** Requests of one kind; `turn` counts them. */
export interface ThroughputCase {
  name: string;
  call(turn: number): ApiCall;
  /** 200 by default. */
  status?: number;
}

const FEW_FIELDS = 'device_name,serial_number,model_name,os_version,last_seen';
const QUERIES = ['UDID', 'DeviceName', 'OSVersion', 'SerialNumber'];

export function throughputCases({ tagIds, deviceIds, enrolledIds }: Samples): ThroughputCase[] {
  const device = (turn: number) => deviceIds[turn % deviceIds.length] as number;
  const enrolled = (turn: number) => enrolledIds[turn % enrolledIds.length] as number;
  return [
    {
      name: 'GET a tag',
      call: (turn) => ({ path: `/tags/${tagIds[turn % tagIds.length]}` }),
    },
    {
      name: 'GET a device',
      call: (turn) => ({ path: `/devices/${device(turn)}` }),
    },
    {
      name: 'GET a device, 5 fields',
      call: (turn) => ({ path: `/devices/${device(turn)}?fields[devices]=${FEW_FIELDS}` }),
    },
    {
      name: 'GET 100 devices, include=tags',
      call: () => ({ path: '/devices?page[size]=100&include=tags' }),
    },
    {
      name: 'POST a command',
      call: (turn) => ({ method: 'POST', path: '/commands', body: command(enrolled(turn)) }),
      status: 201,
    },
    {
      name: 'POST a command, Idempotency-Key',
      call: (turn) => ({
        method: 'POST',
        path: '/commands',
        body: command(enrolled(turn)),
        headers: { 'Idempotency-Key': randomUUID() },
      }),
      status: 201,
    },
    {
      name: 'POST a device',
      call: (turn) => ({ method: 'POST', path: '/devices', body: newDevice(turn) }),
      status: 201,
    },
  ];
}

function command(deviceId: number) {
  const attributes = { request_type: 'DeviceInformation', parameters: { Queries: QUERIES } };
  const device = { data: { type: 'devices', id: deviceId } };
  return { data: { type: 'commands', attributes, relationships: { device } } };
}

/** The serial number by which the bench finds it again. */
function newDevice(turn: number) {
  const attributes = { serial_number: `BENCH${randomUUID()}`, device_name: `New ${turn}` };
  return { data: { type: 'devices', attributes } };
}

const WARM_MS = 1000;

/** Ready bytes over raw connections, so that the measuring process takes little of the CPU. */
export async function measureThroughput(
  { call, status: expected = 200 }: ThroughputCase,
  options: ThroughputOptions,
): Promise<Throughput> {
  const { port, pid, databasePid, token, connections, seconds } = options;
  const open = await Promise.all(
    Array.from({ length: connections }, () => HttpConnection.open(port)),
  );
  let turn = 0;
  const run = (ms: number) => {
    const end = performance.now() + ms;
    return runLanes(connections, async (lane, recorder) => {
      while (performance.now() < end) {
        turn += 1;
        const request = bytesOf(call(turn), token);
        const startedAt = recorder.now();
        const { status } = await (open[lane] as HttpConnection).send(request);
        recorder.done(startedAt, status === expected);
      }
    });
  };
  const used = () => ({
    server: usageOf(pid)?.cpuSeconds ?? 0,
    database: databasePid === undefined ? 0 : (usageOfFamily(databasePid)?.cpuSeconds ?? 0),
  });
  try {
    await run(WARM_MS);
    const before = used();
    const measured = await run(seconds * 1000);
    const after = used();
    const perRequest = (name: 'server' | 'database') =>
      ((after[name] - before[name]) * 1000) / measured.operations;
    return {
      ...measured,
      cpuMsPerRequest: perRequest('server'),
      databaseMsPerRequest: perRequest('database'),
    };
  } finally {
    for (const connection of open) connection.close();
  }
}

function bytesOf({ method = 'GET', path, body, headers = {} }: ApiCall, token: string): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const content = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
  const all = { Authorization: `Bearer ${token}`, ...(text !== '' && content), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} /api/v1${path} HTTP/1.1`, 'Host: localhost', ...lines];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`);
}
