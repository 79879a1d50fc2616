import { LARGE_KINDS, largeMessage } from '../../test/helpers/large-plists.js';
import { openBenchDatabase } from '../load/database.js';
import {
  type BenchDevice,
  BenchFleet,
  createFleetSeed,
  signedBytes,
  signedRequest,
} from '../load/fleet.js';
import { HttpConnection } from '../load/http-connection.js';
import type { Measured } from '../load/measure.js';
import { authenticate, tokenUpdate } from '../load/messages.js';
import { startServerProcess } from '../load/server-process.js';
import { WorkerProcess } from '../load/worker-process.js';
import type { ScenarioResult } from './scenario.js';

const LARGEST = 8 * 1024 * 1024 - 64 * 1024;
const HONEST_DEVICES = 40;
const HONEST_CONNECTIONS = 4;
const ATTACKING_CONNECTIONS = 2;
/** Longest time between two turns of the main thread's event loop. */
const MAX_HELD_MS = 50;

/** Two connections of one device send bodies of one kind without a pause. */
class Attack {
  private isOver = false;
  readonly statuses = new Map<number, number>();

  constructor(
    private readonly port: number,
    private readonly request: Buffer,
  ) {}

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: ATTACKING_CONNECTIONS }, () => this.sendAll()));
  }

  end(): void {
    this.isOver = true;
  }

  private async sendAll(): Promise<void> {
    while (!this.isOver) {
      const connection = await HttpConnection.open(this.port);
      try {
        while (!this.isOver) this.count((await connection.send(this.request)).status);
      } catch {
        // The server closes the connection after refusing a body.
        this.count(0);
      }
      connection.close();
    }
  }

  private count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

/** How long other devices wait while one device sends the largest bodies it may, of every kind. */
export async function largeBodies({ seconds }: { seconds: number }): Promise<ScenarioResult> {
  const seed = await createFleetSeed();
  const database = await openBenchDatabase(seed);
  const { url: databaseUrl, directory: dataDir } = database;
  const server = await startServerProcess({ databaseUrl, dataDir, watchLoop: true });
  const { port } = server;
  const start = { seed, port, databaseUrl, connections: HONEST_CONNECTIONS };
  const worker = await WorkerProcess.start(start);
  const kinds = Object.entries(LARGE_KINDS);
  const fleet = new BenchFleet(seed);
  const figures: Record<string, number> = {};
  const broken: string[] = [];
  try {
    await worker.prepare({ kind: 'enroll', from: 0, to: HONEST_DEVICES });
    await worker.run();
    await worker.prepare({ kind: 'idle', to: HONEST_DEVICES, seconds });
    await server.loopBusyMs();
    note('nobody else', await worker.run(), await server.loopBusyMs());
    for (const [at, [kind, markup]] of kinds.entries()) {
      const [device] = fleet.devices(HONEST_DEVICES + at, HONEST_DEVICES + at + 1);
      if (device === undefined) continue;
      await enroll(port, device);
      const members = { Status: 'Idle', UDID: device.udid };
      const body = largeMessage(members, ['More', markup(LARGEST)]);
      const attack = new Attack(port, signedBytes(device, body));
      const attacking = attack.run();
      const measured = await worker.run();
      attack.end();
      await attacking;
      const held = await server.loopBusyMs();
      note(kind, measured, held);
      for (const [status, count] of attack.statuses) figures[`${kind}: ${status}`] = count;
      if (measured.failures > 0) broken.push(`${kind}: ${measured.failures} honest devices failed`);
      if (held > MAX_HELD_MS) broken.push(`${kind}: the event loop was held ${held.toFixed(0)} ms`);
    }
  } finally {
    await worker.stop();
    await server.stop();
    await database.stop();
  }
  return { name: 'one device sends the largest bodies', broken, figures };

  function note(kind: string, { p50, p99 }: Measured, heldMs: number): void {
    Object.assign(figures, {
      [`${kind}: Idle p50 ms`]: p50,
      [`${kind}: p99`]: p99,
      [`${kind}: loop held`]: heldMs,
    });
  }
}

/** Here, since each process makes certificates of its own. */
async function enroll(port: number, device: BenchDevice): Promise<void> {
  const connection = await HttpConnection.open(port);
  for (const message of [authenticate(device.udid), tokenUpdate(device.udid)]) {
    const { status } = await connection.send(signedRequest(device, message));
    if (status !== 200) throw new Error(`enrollment answered ${status}`);
  }
  connection.close();
}
