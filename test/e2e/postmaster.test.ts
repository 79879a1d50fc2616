import { join } from 'node:path';
import pg from 'pg';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { readPostmaster } from '../../src/embedded-postgres/postmaster-pid.js';
import { createLogger } from '../../src/logger.js';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, run, type Server, serve } from '../helpers/process.js';
import { AdminClient, eventually, readAdminToken } from './admin-client.js';
import { DeviceProxy } from './device-proxy.js';

const DEVICES = 10;
const RESTART_MS = 3_000;
const FINAL = ['Acknowledged', 'Error', 'CommandFormatError'];

let dataDir: string;
let proxy: DeviceProxy;
let server: Server;
let api: AdminClient;

beforeAll(async () => {
  dataDir = await preparedDataDir();
  const port = await freePort();
  proxy = new DeviceProxy([port]);
  const proxyUrl = await proxy.listen();
  server = await serve({ dataDir, env: { PORT: String(port), PUBLIC_URL: proxyUrl } });
  api = new AdminClient(server.url, readAdminToken(dataDir));
  const pace = ['--poll-interval', '0.2', '--concurrency', '4'];
  const args = ['--devices', String(DEVICES), '--forever', '--url', proxyUrl, ...pace];
  await run(['simulate', ...args]).waitFor(new RegExp(`enrolled ${DEVICES}/${DEVICES}`), 60_000);
}, 90_000);
afterAll(async () => {
  proxy.close();
  await cleanUp();
});

function killPostmaster(): void {
  process.kill(readPostmaster(join(dataDir, 'postgres', 'data'))?.pid ?? 0, 'SIGKILL');
}

/** The commands that a device has reported on and got its 200. */
function acknowledged(): string[] {
  return proxy.exchanges.flatMap(({ kind, commandUuid, answer }) =>
    FINAL.includes(kind) && answer === 200 && commandUuid !== undefined ? [commandUuid] : [],
  );
}

async function statuses(): Promise<Map<string, string>> {
  const { connection } = await openEmbedded({
    dataDir,
    mode: 'use',
    logger: createLogger('silent'),
  });
  const client = new pg.Client({ ...connection });
  await client.connect();
  const { rows } = await client.query('select uuid::text, status from commands');
  await client.end();
  return new Map(rows.map(({ uuid, status }) => [uuid, status]));
}

describe('kill -9 of PostgreSQL under a server with devices', () => {
  it('is over within 3 s: devices get 503 with Retry-After meanwhile, nothing is lost', async () => {
    const { list } = await api.call('/devices?page[size]=1');
    const id = Number(list[0]?.id);
    const first = proxy.exchanges.length;
    const startedAt = performance.now();
    killPostmaster();
    const since = () => proxy.exchanges.slice(first);
    await eventually(
      () => Promise.resolve(since()),
      (seen) => seen.some(({ answer }) => answer === 503) && seen.at(-1)?.answer === 200,
    );
    expect(performance.now() - startedAt).toBeLessThan(RESTART_MS);
    const meanwhile = since();
    await eventually(
      () => Promise.resolve(meanwhile.map(({ answer }) => answer)),
      (answers) => !answers.includes(undefined),
    );
    expect(new Set(meanwhile.map(({ answer }) => answer))).toEqual(new Set([200, 503]));
    const refused = meanwhile.filter(({ answer }) => answer === 503);
    expect(new Set(refused.map(({ retryAfter }) => retryAfter))).toEqual(new Set(['30']));

    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { status, data } = await api.queue(id, 'SecurityInfo');
    expect(status).toBe(201);
    const uuid = String(data.attributes.uuid);
    await eventually(
      () => Promise.resolve(acknowledged()),
      (uuids) => uuids.includes(uuid),
    );
    const stored = await statuses();
    expect(acknowledged().filter((one) => !FINAL.includes(stored.get(one) ?? ''))).toEqual([]);
    expect(server.output()).not.toContain('"level":60');
  }, 60_000);

  it('does not keep the server from stopping', async () => {
    killPostmaster();
    const startedAt = performance.now();
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(7_000);
    expect(server.output()).toContain('"msg":"stopped"');
  }, 30_000);
});
