import type pg from 'pg';
import { type FleetSeed, udidsOf } from '../load/fleet.js';
import { type Measured, quantilesOf } from '../load/measure.js';
import { type Task, WorkerProcess } from '../load/worker-process.js';
import { settle } from '../scale/device-path.js';
import { type ConsoleTraffic, OpenConsoles } from './open-consoles.js';
import type { RepeatedRequest } from './recorded-requests.js';

interface PollBench {
  client: pg.Client;
  seed: FleetSeed;
  server: { port: number; token: string; databaseUrl: string };
}

interface Options {
  /** What each open console repeats. */
  pages: readonly RepeatedRequest[][];
  rounds: number;
  seconds: number;
}

/** Polls without and with consoles, in turn. */
export interface Polls {
  /** Polls a second, as fast as the server answers them. */
  perSecond: { alone: number; beside: number };
  /** Polls a second at a fixed rate below that; p99 in milliseconds, one value for each round. */
  rate: number;
  p99: { alone: number[]; beside: number[] };
  failures: number;
  consoles: ConsoleTraffic;
}

const DEVICES = 1_000;
const CONNECTIONS = 32;
/** Share of the rate that the server can answer: low enough that delays are the server's, not a queue's. */
const SHARE = 0.4;

export async function measurePolls(bench: PollBench, options: Options): Promise<Polls> {
  const { server, seed } = bench;
  const worker = await WorkerProcess.start({ seed, ...server, connections: CONNECTIONS });
  try {
    await enroll(bench, worker);
    const { seconds } = options;
    const fast = await inTurn(bench, worker, {
      ...options,
      task: { kind: 'idle', to: DEVICES, seconds },
    });
    const perSecond = { alone: middle(fast.alone), beside: middle(fast.beside) };
    const rate = Math.round(perSecond.alone * SHARE);
    const task: Task = { kind: 'idle-rate', to: DEVICES, seconds, rate };
    const steady = await inTurn(bench, worker, { ...options, task });
    return {
      perSecond,
      rate,
      p99: { alone: p99s(steady.alone), beside: p99s(steady.beside) },
      failures: [fast, steady]
        .flatMap(({ alone, beside }) => [...alone, ...beside])
        .reduce((sum, { failures }) => sum + failures, 0),
      consoles: steady.consoles,
    };
  } finally {
    await worker.stop();
  }
}

/** Devices beside those of the fleet, whose keys are here; without what their enrollment queues. */
async function enroll({ client }: PollBench, worker: WorkerProcess): Promise<void> {
  await worker.prepare({ kind: 'enroll', from: 0, to: DEVICES });
  const { failures } = await worker.run();
  if (failures > 0) throw new Error(`${failures} devices could not enroll`);
  await settle(client, udidsOf(DEVICES));
}

interface Turns {
  alone: Measured[];
  beside: Measured[];
  consoles: ConsoleTraffic;
}

async function inTurn(
  { server }: PollBench,
  worker: WorkerProcess,
  { pages, rounds, task }: Options & { task: Task },
): Promise<Turns> {
  await worker.prepare(task);
  await worker.run();
  const alone: Measured[] = [];
  const beside: Measured[] = [];
  const traffic: ConsoleTraffic[] = [];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await worker.run());
    const consoles = await OpenConsoles.open(server, pages);
    beside.push(await worker.run());
    traffic.push(consoles.close());
  }
  return { alone, beside, consoles: sumOf(traffic) };
}

function sumOf(traffic: readonly ConsoleTraffic[]): ConsoleTraffic {
  const mean = (of: (one: ConsoleTraffic) => number) =>
    traffic.reduce((sum, one) => sum + of(one), 0) / Math.max(1, traffic.length);
  return {
    perSecond: mean(({ perSecond }) => perSecond),
    notModified: mean(({ notModified }) => notModified),
    failures: traffic.reduce((sum, { failures }) => sum + failures, 0),
    p95: Math.max(0, ...traffic.map(({ p95 }) => p95)),
  };
}

function middle(found: readonly Measured[]): number {
  return quantilesOf(found.map(({ perSecond }) => perSecond)).p50;
}

function p99s(found: readonly Measured[]): number[] {
  return found.map(({ p99 }) => p99);
}
