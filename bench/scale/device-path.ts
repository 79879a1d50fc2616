import type pg from 'pg';
import { fillCommands } from '../load/database.js';
import { type FleetSeed, udidsOf } from '../load/fleet.js';
import type { Measured } from '../load/measure.js';
import { WorkerProcess } from '../load/worker-process.js';

interface Fleet {
  client: pg.Client;
  seed: FleetSeed;
  port: number;
  databaseUrl: string;
}

const CONNECTIONS = 32;
/** Enrolled before anything is measured, and asked afterwards. */
const KNOWN = 500;
const ENROLLMENTS = 4_000;
const SECONDS = 8;
const FILL = { phase: 'scale', perDevice: 40, requestType: 'ContentCachingInformation' };

/**
 * Enrollments, Idle polls and commands with devices of its own beside those of the fleet, whose keys nobody
 * has, as fast as the server answers. These devices are gone afterwards.
 */
export async function measureDevicePath(fleet: Fleet): Promise<Record<string, Measured>> {
  const { client, seed, port, databaseUrl } = fleet;
  const worker = await WorkerProcess.start({ seed, port, databaseUrl, connections: CONNECTIONS });
  const run = async (task: Parameters<WorkerProcess['prepare']>[0]) => {
    await worker.prepare(task);
    const measured = await worker.run();
    if (measured.failures > 0) throw new Error(`${task.kind}: ${measured.failures} failed`);
    return measured;
  };
  const known = udidsOf(KNOWN);
  try {
    await removeDevices(client);
    await run({ kind: 'enroll', from: 0, to: KNOWN });
    const enrollments = await run({ kind: 'enroll', from: KNOWN, to: KNOWN + ENROLLMENTS });
    await settle(client, known);
    const polls = await run({ kind: 'idle', to: KNOWN, seconds: SECONDS });
    await fillCommands(client, { ...FILL, udids: known });
    await settle(client, []);
    const commands = await run({ kind: 'loop', to: KNOWN, ...FILL });
    await removeDevices(client);
    return { enrollments, 'Idle polls': polls, commands };
  } finally {
    await worker.stop();
  }
}

async function removeDevices(client: pg.Client): Promise<void> {
  await client.query('delete from devices where udid = any($1)', [udidsOf(KNOWN + ENROLLMENTS)]);
}

/** Without what an enrollment queues for these devices; PostgreSQL has written what it had to write. */
export async function settle(client: pg.Client, of: string[]): Promise<void> {
  const devices = 'select id from devices where udid = any($1)';
  await client.query(`delete from commands where device_id in (${devices})`, [of]);
  await client.query('vacuum (analyze) devices, commands, device_identities');
  await client.query('checkpoint');
}
