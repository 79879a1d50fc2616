import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeBenchDirectory } from '../../load/bench-directory.js';
import { emptyQueues, trustFleet } from '../../load/database.js';
import { BenchFleet, createFleetSeed, type FleetSeed } from '../../load/fleet.js';
import { usageOf } from '../../load/process-usage.js';
import { type ServerProcess, startServerProcess } from '../../load/server-process.js';
import { WorkerProcess } from '../../load/worker-process.js';
import type { ScenarioResult } from '../scenario.js';
import {
  type Attack,
  type AttackState,
  HELD_KINDS,
  type HeldKind,
  signaturesOf,
  startAttacker,
} from './attack.js';

export interface HeldOptions {
  /** An empty database, migrated or not. */
  databaseUrl: string;
  connections: number;
  /** How long honest devices are measured alone, and again under attack. */
  seconds: number;
  kinds?: readonly HeldKind[];
  /** Maximum ratio of the idle p99 under attack to the p99 before. */
  mostSlowdown?: number;
}

interface Bench {
  server: ServerProcess;
  worker: WorkerProcess;
  signatures: string[];
}

const DEVICES = 16;
const HONEST_CONNECTIONS = 2;
const BODY_BYTES = 8 * 1024 * 1024 - 1;
const MAX_MEGABYTES = 100;
const LOOK_MS = 100;
/** The deadline of a body, and the second in which its sender may read the answer. */
const HELD_MS = 12_500;

/** An attacker without an identity holds connections: memory stays bounded, devices are not slowed. */
export async function heldConnections(options: HeldOptions): Promise<ScenarioResult[]> {
  const directory = makeBenchDirectory('muster-held-');
  const seed = await createFleetSeed(DEVICES);
  try {
    await trustFleet(options.databaseUrl, seed);
    const results: ScenarioResult[] = [];
    for (const kind of options.kinds ?? HELD_KINDS) {
      results.push(await inServer(kind, seed, { ...options, directory }));
    }
    return results;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function inServer(
  kind: HeldKind,
  seed: FleetSeed,
  options: HeldOptions & { directory: string },
): Promise<ScenarioResult> {
  const { databaseUrl, directory: dataDir } = options;
  const server = await startServerProcess({
    databaseUrl,
    dataDir,
    settings: { LOG_LEVEL: process.env.SOAK_LOG_LEVEL ?? 'fatal' },
  });
  try {
    const worker = await WorkerProcess.start({
      seed,
      databaseUrl,
      port: server.port,
      connections: HONEST_CONNECTIONS,
    });
    try {
      await worker.prepare({ kind: 'enroll', from: 0, to: DEVICES });
      const { failures } = await worker.run();
      if (failures > 0) throw new Error(`${failures} devices could not enroll`);
      // An Idle is answered with nothing, however few of them there are.
      await emptyQueues(databaseUrl);
      const signatures = await signaturesOf(kind, new BenchFleet(seed));
      return await hold(kind, { server, worker, signatures }, options);
    } finally {
      await worker.stop();
    }
  } finally {
    await server.stop();
  }
}

async function hold(kind: HeldKind, bench: Bench, options: HeldOptions): Promise<ScenarioResult> {
  const { server, worker, signatures } = bench;
  const { connections, seconds, mostSlowdown = 2 } = options;
  await measureIdle(worker, seconds / 2); // what a new server compiles is not counted
  const alone = await measureIdle(worker, seconds);
  const before = rssOf(server);
  const attack = { port: server.port, connections, bodyBytes: BODY_BYTES, signatures };
  const attacked = attackDuring(attack, () => measureIdle(worker, seconds));
  const [{ result: during, state }, most] = await watchRss(server, attacked);
  // Node.js frees refused bodies at its next garbage collection, which further requests cause.
  await measureIdle(worker, seconds / 2);
  const slowdown = during.p99 / alone.p99;
  const grown = most - before;
  const faults: [boolean, string][] = [
    [state.open > 0, `${state.open} connections are open still`],
    [grown >= MAX_MEGABYTES, `the server grew by ${Math.round(grown)} MB`],
    [slowdown >= mostSlowdown, `Idle p99 grew ${slowdown.toFixed(1)} times`],
    [during.failures > 0, `${during.failures} honest requests failed`],
  ];
  return {
    name: `${connections} held connections, signature ${kind}`,
    broken: faults.filter(([isSo]) => isSo).map(([, words]) => words),
    figures: {
      rssBefore: before,
      rssMost: most,
      rssAfter: rssOf(server),
      p50Before: alone.p50,
      p50During: during.p50,
      p99Before: alone.p99,
      p99During: during.p99,
      honest: during.operations,
      open: state.open,
      sentMegabytes: state.sentMegabytes,
      ...answersIn(state),
    },
  };
}

async function measureIdle(worker: WorkerProcess, seconds: number) {
  await worker.prepare({ kind: 'idle', to: DEVICES, seconds });
  return await worker.run();
}

function rssOf({ pid }: ServerProcess): number {
  return usageOf(pid)?.rssMegabytes ?? 0;
}

async function attackDuring<T>(attack: Attack, work: () => Promise<T>) {
  const attacker = await startAttacker();
  try {
    await attacker.call('begin', attack);
    const startedAt = performance.now();
    const result = await work();
    await sleep(Math.max(0, HELD_MS - (performance.now() - startedAt)));
    return { result, state: await lastLook(attacker) };
  } finally {
    await attacker.kill('SIGTERM');
  }
}

/** A busy machine may take twice as long to end the last of them. */
async function lastLook(attacker: Awaited<ReturnType<typeof startAttacker>>): Promise<AttackState> {
  const deadline = performance.now() + HELD_MS;
  for (;;) {
    const state = await attacker.call('look', undefined as never);
    if (state.open === 0 || performance.now() > deadline) return state;
    await sleep(250);
  }
}

/** The highest memory of the server while `work` runs. */
async function watchRss<T>(server: ServerProcess, work: Promise<T>): Promise<[T, number]> {
  let most = rssOf(server);
  const timer = setInterval(() => {
    most = Math.max(most, rssOf(server));
  }, LOOK_MS);
  const result = await work.finally(() => clearInterval(timer));
  return [result, most];
}

function answersIn({ answers }: AttackState): Record<string, number> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, count]) => [`answered${status}`, count]),
  );
}
