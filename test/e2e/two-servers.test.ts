import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createEmptyDatabase, type TestDatabase } from '../helpers/database.js';
import {
  cleanUp,
  freePort,
  newHome,
  ROOT,
  runToEnd,
  type Server,
  serve,
} from '../helpers/process.js';
import { AdminClient, readAdminToken } from './admin-client.js';
import { DeviceProxy } from './device-proxy.js';

const DEVICES = 20;

let database: TestDatabase;
let dataDir: string;
let proxy: DeviceProxy;
let proxyUrl: string;
let servers: Server[];

async function count(query: string): Promise<number> {
  const { rows } = await database.db.pool.query<{ n: number }>(
    `select count(*)::int as n from ${query}`,
  );
  return rows[0]?.n ?? -1;
}

beforeAll(async () => {
  database = await createEmptyDatabase();
  dataDir = join(newHome(), 'data');
  const ports = [await freePort(), await freePort()];
  proxy = new DeviceProxy(ports);
  proxyUrl = await proxy.listen();
  const common = { DATABASE_URL: database.connectionString, PUBLIC_URL: proxyUrl };
  servers = await Promise.all(
    ports.map((port) => serve({ dataDir, env: { ...common, PORT: String(port) } })),
  );
});
afterAll(async () => {
  proxy.close();
  await cleanUp();
  await database.drop();
});

describe('two servers that start at once on one empty PostgreSQL', () => {
  it('migrate it once and agree on one authority, one key and one admin token', async () => {
    expect(await count('knex_migrations')).toBe(readdirSync(join(ROOT, 'migrations')).length);
    expect(await count('certificates where is_ca')).toBe(1);
    expect(await count('tokens')).toBe(1);
    const token = readAdminToken(dataDir);
    for (const { url } of servers) {
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      expect((await new AdminClient(url, token).call('/devices')).status).toBe(200);
    }
  });

  it('share the devices between them, message by message', async () => {
    const args = ['simulate', '--devices', String(DEVICES), '--url', proxyUrl];
    const { code, output } = await runToEnd(args);
    expect(output).toContain(`${DEVICES} of ${DEVICES} enrolled`);
    expect(code).toBe(0);
    expect(await count('devices where is_enrolled and os_version is not null')).toBe(DEVICES);
    expect(await count(`commands where status <> 'Acknowledged' or needs_handling`)).toBe(0);
    const answers = proxy.exchanges.filter(({ kind }) => kind === 'Acknowledged');
    expect(new Set(answers.map(({ commandUuid }) => commandUuid)).size).toBe(answers.length);
    expect(proxy.exchanges.every(({ answer }) => answer === 200)).toBe(true);
  }, 60_000);

  it('both stop on SIGTERM and leave the database running', async () => {
    for (const server of servers) server.kill('SIGTERM');
    expect(await Promise.all(servers.map(({ ended }) => ended))).toEqual([0, 0]);
    expect(await count('devices')).toBe(DEVICES);
  });
});
