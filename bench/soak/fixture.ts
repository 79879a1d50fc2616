import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { ApiClient } from '../load/api-client.js';
import { makeBenchDirectory } from '../load/bench-directory.js';
import { type ServerProcess, startServerProcess } from '../load/server-process.js';
import { fillPushDevices } from '../push/push-devices.js';
import { type StandInProcess, startStandIn } from '../push/stand-in-process.js';

export type Role = 'all' | 'web' | 'worker';

export interface FixtureOptions {
  /** An empty database, migrated or not. */
  databaseUrl: string;
  devices: number;
  /** The role of the process that accepts the commands: web, unless it also pushes. */
  role?: 'all' | 'web';
}

export interface StartOptions {
  role: Role;
  settings?: Record<string, string>;
  watchLoop?: boolean;
}

/** One server of several processes, with a stand-in for Apple's push service, and its devices. */
export interface Fixture {
  databaseUrl: string;
  devices: readonly number[];
  /** The observer's own connections. */
  pool: pg.Pool;
  standIn: StandInProcess;
  server: ServerProcess;
  /** API of the server that accepts the commands. */
  api: ApiClient;
  start(options: StartOptions): Promise<ServerProcess>;
  close(): Promise<void>;
}

interface Secrets {
  adminToken: string;
  masterKey: Buffer;
}

/** Collects what must be closed, and closes it in reverse order. */
class Closing {
  private readonly steps: (() => unknown)[] = [];

  add(step: () => unknown): void {
    this.steps.push(step);
  }

  async run(): Promise<void> {
    for (const step of this.steps.splice(0).reverse()) await step();
  }
}

/** A server that accepts commands, and no process that pushes yet. */
export async function openFixture(options: FixtureOptions): Promise<Fixture> {
  const closing = new Closing();
  try {
    return await open(options, closing);
  } catch (error) {
    await closing.run();
    throw error;
  }
}

async function open(options: FixtureOptions, closing: Closing): Promise<Fixture> {
  const { databaseUrl, devices: count, role = 'web' } = options;
  const directory = temporaryDirectory(closing);
  const standIn = await startStandIn();
  closing.add(() => standIn.stop());
  const adminToken = randomBytes(24).toString('base64url');
  const secrets = { adminToken, masterKey: randomBytes(32) };
  const caFile = join(directory, 'apns-ca.pem');
  writeFileSync(caFile, standIn.target.ca);
  const common = settingsFor(databaseUrl, secrets, standIn, caFile);
  const start = serverStarter(common, directory, closing);
  const pool = connect(databaseUrl, closing);
  const server = await start({ role });
  const api = new ApiClient(server.port, adminToken);
  closing.add(() => api.close());
  await uploadPushCertificate(api, standIn);
  const fleet = { count, topic: standIn.target.topic };
  await fillPushDevices(pool, new SecretBox(secrets.masterKey), fleet);
  const devices = Array.from({ length: count }, (_, index) => index + 1);
  return { databaseUrl, devices, pool, standIn, server, api, start, close: () => closing.run() };
}

function temporaryDirectory(closing: Closing): string {
  const directory = makeBenchDirectory('muster-soak-');
  closing.add(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function settingsFor(
  databaseUrl: string,
  secrets: Secrets,
  { target }: StandInProcess,
  file: string,
) {
  return {
    DATABASE_URL: databaseUrl,
    ADMIN_TOKEN: secrets.adminToken,
    MASTER_KEY: secrets.masterKey.toString('base64'),
    APNS_HOST: target.url,
    APNS_CA_FILE: file,
    INVENTORY_INTERVAL: 'off',
    LOG_LEVEL: process.env.SOAK_LOG_LEVEL ?? 'fatal',
  };
}

function serverStarter(common: Record<string, string>, directory: string, closing: Closing) {
  return async ({ role, settings = {}, watchLoop = false }: StartOptions) => {
    const server = await startServerProcess({
      databaseUrl: common.DATABASE_URL ?? '',
      dataDir: directory,
      watchLoop,
      settings: { ...common, ROLE: role, ...settings },
    });
    closing.add(() => server.stop());
    return server;
  };
}

function connect(databaseUrl: string, closing: Closing): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 3 });
  // The scenarios break connections, these among them.
  pool.on('error', () => undefined);
  closing.add(() => pool.end());
  return pool;
}

async function uploadPushCertificate(api: ApiClient, { target }: StandInProcess): Promise<void> {
  const attributes = {
    purpose: 'mdm.pushcert',
    pem_certificate: target.certificate,
    pem_private_key: target.privateKey,
  };
  const body = { data: { type: 'certificates', attributes } };
  const reply = await api.call({ method: 'POST', path: '/push_certificates', body });
  if (reply.status !== 201) throw new Error(`the push certificate: ${reply.status} ${reply.body}`);
}
