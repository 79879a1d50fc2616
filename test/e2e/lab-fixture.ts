import { type SimulateOptions, simulate } from '../../src/cli/lab/simulate.js';
import { createIdentity, type DeviceIdentity } from '../../src/lab/devices/device-identity.js';
import type { LabPlatform } from '../../src/lab/devices/device-models.js';
import { Random } from '../../src/lab/devices/random.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { DeviceProxy } from './device-proxy.js';

/** A server with its lab on, at an address that devices can reach. */
export interface LabFixture {
  app: TestApp;
  url: string;
  api: ReturnType<typeof adminApi>;
  stop(): Promise<void>;
}

export async function openLabFixture(env: Record<string, string> = {}): Promise<LabFixture> {
  const ports: number[] = [];
  const proxy = new DeviceProxy(ports);
  const url = await proxy.listen();
  const app = await startApp({ env: { LAB: 'on', PUBLIC_URL: url, ...env } }).catch(
    (error: unknown) => {
      proxy.close();
      throw error;
    },
  );
  ports.push(Number(new URL(app.url).port));
  const stop = async () => {
    proxy.close();
    await app.stop();
  };
  return { app, url, api: adminApi(app), stop };
}

export interface Simulated {
  code: number;
  output: string;
}

/** `muster simulate` as it is typed, without a process of its own. */
export async function runSimulation(
  { url }: Pick<LabFixture, 'url'>,
  options: Partial<SimulateOptions>,
  signal?: AbortSignal,
): Promise<Simulated> {
  const written: string[] = [];
  const usual = { enroll: 'profile', devices: 1, url, notNow: 0, pollInterval: 1 } as const;
  const out = { write: (text: string) => written.push(text) };
  const io = { out, signal };
  const code = await simulate({ ...usual, concurrency: 4, ...options }, io);
  return { code, output: written.join('') };
}

/** The rows that an enrollment of these leaves, the oldest device first. */
export async function enrolledDevices({ app }: Pick<LabFixture, 'app'>) {
  return await app.db
    .knex('devices')
    .orderBy('id')
    .select(
      ...['id', 'udid', 'enrollment_id', 'serial_number', 'enrollment_state', 'enrollment_type'],
      ...['enrollment_method', 'device_name', 'os_version', 'is_supervised', 'is_dep'],
      ...['awaiting_configuration', 'managed_apple_account', 'enrollment_number', 'cell'],
    );
}

/** What the inventory queued and how it ended: true once nothing waits and some were acknowledged. */
export async function isInventoried(
  { app }: Pick<LabFixture, 'app'>,
  id: number,
): Promise<boolean> {
  const rows: { status: string; is_pending: boolean }[] = await app.db
    .knex('commands')
    .where({ device_id: id })
    .whereNull('device_user_id')
    .select('status', 'is_pending');
  const acknowledged = rows.filter(({ status }) => status === 'Acknowledged');
  return acknowledged.length >= 3 && rows.every(({ is_pending }) => !is_pending);
}

/** A seed whose first device is of this kind. */
export function seedFor(
  platform: LabPlatform,
  isWanted: (identity: DeviceIdentity) => boolean,
): string {
  for (let attempt = 0; ; attempt += 1) {
    const seed = `device ${attempt}`;
    const random = new Random(seed).fork('device 0');
    if (isWanted(createIdentity(platform, random.fork('identity')))) return seed;
  }
}
