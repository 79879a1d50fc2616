import { setTimeout as sleep } from 'node:timers/promises';
import { preparedDataDir } from '../helpers/prepared-data.js';
import {
  cleanUp,
  freePort,
  processesOf,
  run,
  runToEnd,
  type Server,
  serve,
} from '../helpers/process.js';
import { AdminClient, readAdminToken } from './admin-client.js';
import { queryEmbedded } from './embedded-query.js';

const DEVICES = 6_000;

const FILL = `
with device as (
  insert into devices (udid, serial_number, platform, os_version, enrollment_state, is_enrolled,
    is_supervised, enrollment_number)
  select gen_random_uuid()::text, 'KILL' || n, 'iOS', '26.1', 'enrolled', true, true, 1
  from generate_series(1, ${DEVICES}) n returning id
), tag as (insert into tags (name) values ('all') returning id)
insert into device_tags (device_id, tag_id) select device.id, tag.id from device cross join tag
returning tag_id as id`;

let dataDir: string;
let port: number;
let server: Server;
let api: AdminClient;

async function start(): Promise<void> {
  server = await serve({ dataDir, env: { PORT: String(port), WORKERS: '2', LAB: 'on' } });
  api = new AdminClient(server.url, readAdminToken(dataDir));
}

/** The status of a request on a connection of its own, so that the workers take turns. */
async function statusOf(path: string, token?: string): Promise<number> {
  const headers = { connection: 'close', ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${server.url}${path}`, { headers });
  await response.arrayBuffer();
  return response.status;
}

async function statuses(count: number, path: string, token?: string): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) found.push(await statusOf(path, token));
  return found;
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within 60 s:\n${server.output().slice(-2_000)}`);
    await sleep(20);
  }
}

/** The process ids of the workers that have answered so far, by number; the newest one of each. */
function workers(): Map<number, number> {
  const lines = server.output().matchAll(/"pid":(\d+),"worker":(\d+),"method"/g);
  return new Map([...lines].map(([, pid, worker]) => [Number(worker), Number(pid)]));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function metric(name: string): Promise<number> {
  const response = await fetch(`${server.url}/metrics`, { headers: { connection: 'close' } });
  const line = (await response.text()).split('\n').find((text) => text.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  port = await freePort();
  await start();
});
afterAll(cleanUp);

describe('a server with WORKERS=2', () => {
  it('answers by both, and shows what both have counted', async () => {
    const token = readAdminToken(dataDir);
    expect(await statuses(10, '/api/v1/devices', token)).toEqual(Array(10).fill(200));
    await until(() => workers().size === 2);
    const name = 'muster_http_request_duration_seconds_count{surface="api",status="200"}';
    const shown = [await metric(name), await metric(name), await metric(name)];
    expect(shown).toEqual([10, 10, 10]);
    // A process counts from its first heartbeat.
    const alive = (role: string) => metric(`muster_processes_alive{role="${role}"}`);
    await until(async () => (await alive('web')) === 2 && (await alive('worker')) === 1);
  });

  it('refuses a token by both once it is revoked', async () => {
    const created = await runToEnd(['token', 'create', '--name', 'short', '--role', 'viewer'], {
      dataDir,
    });
    const token = /mst_\S+/.exec(created.output)?.[0] ?? '';
    expect(await statuses(6, '/api/v1/devices', token)).toEqual(Array(6).fill(200));
    expect((await runToEnd(['token', 'revoke', 'short'], { dataDir })).code).toBe(0);
    await until(async () =>
      (await statuses(2, '/api/v1/devices', token)).every((status) => status === 401),
    );
  });

  it('counts failed attempts together', async () => {
    const found = await statuses(24, '/api/v1/devices', 'mst_wrong-0123456789');
    expect(found.indexOf(429)).toBeGreaterThan(0);
    expect(found.indexOf(429)).toBeLessThanOrEqual(20);
    expect(new Set(found.slice(found.indexOf(429)))).toEqual(new Set([429]));
  });

  it('pushes to devices of the lab, and sends them what one of the workers has queued', async () => {
    const fleet = run(['simulate', '--devices', '4', '--push', '--forever', '--url', server.url]);
    await fleet.waitFor(/4 of 4 enrolled|enrolled 4\/4/);
    const created = await api.call('/command_batches', {
      data: {
        type: 'command_batches',
        attributes: {
          request_type: 'DeviceInformation',
          parameters: { Queries: ['OSVersion'] },
          filter: [{ name: 'is_enrolled', op: 'eq', val: true }],
        },
      },
    });
    expect(created.status).toBe(202);
    await until(async () => {
      const { data } = await api.call(`/command_batches/${created.data.id}`);
      const { state, counts } = data.attributes;
      return state === 'finished' && (counts as { Acknowledged: number }).Acknowledged === 4;
    });
    fleet.kill('SIGTERM');
    await fleet.ended;
  });

  it('replaces a worker that is killed while a batch is queued', async () => {
    const [tag] = await queryEmbedded<{ id: number }>(dataDir, FILL);
    const before = workers();
    const answer = await api.call('/command_batches', {
      data: {
        type: 'command_batches',
        attributes: {
          request_type: 'Settings',
          parameters: { Settings: [{ Item: 'DeviceName', DeviceName: '$SERIAL' }] },
        },
        relationships: { tags: { data: [{ type: 'tags', id: Number(tag?.id) }] } },
      },
      meta: { confirm: DEVICES },
    });
    expect(answer.status).toBe(202);
    process.kill(before.get(1) ?? 0, 'SIGKILL');
    const [line] = await server.waitFor(/\{[^{}]*"msg":"a worker has ended and is replaced[^}]*\}/);
    expect(JSON.parse(line)).toMatchObject({
      ...{ level: 50, worker: 1, workerPid: before.get(1), reason: 'SIGKILL' },
    });
    expect(new Set(await statuses(10, '/readyz'))).toEqual(new Set([200]));
    const token = readAdminToken(dataDir);
    await until(async () => {
      await statusOf('/api/v1/devices?page[size]=1', token);
      return workers().get(1) !== before.get(1);
    });
  });

  it('ends its workers when it is killed, and continues after a restart', async () => {
    const former = [...workers().values()];
    server.kill('SIGKILL');
    expect(await server.ended).toBe('SIGKILL');
    await until(() => !former.some(isAlive));
    await start();
    const stored = `
      select count(*)::integer as commands, count(distinct device_id)::integer as devices,
        (select count(*)::integer from command_batch_slices) as slices
      from commands where command_batch_id = (select max(id) from command_batches)`;
    await until(async () => (await queryEmbedded(dataDir, stored))[0]?.slices === 0);
    expect(await queryEmbedded(dataDir, stored)).toEqual([
      { commands: DEVICES, devices: DEVICES, slices: 0 },
    ]);
  });

  it('stops on SIGTERM with all that belongs to it', async () => {
    await until(async () => {
      await statusOf('/api/v1/devices?page[size]=1', readAdminToken(dataDir));
      return workers().size === 2;
    });
    const former = [...workers().values()];
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(former.filter(isAlive)).toEqual([]);
    expect(processesOf(dataDir)).toEqual([]);
  });

  it('stops with the reason when its workers end again and again', async () => {
    await start();
    const token = readAdminToken(dataDir);
    const killed = new Set<number>();
    await until(async () => {
      if (server.output().includes('workers end again and again')) return true;
      const pid = [...workers().values()].find((one) => !killed.has(one) && isAlive(one));
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
      killed.add(pid ?? 0);
      // A worker that starts holds the request, and five are to end within half a minute.
      const asked = statusOf('/api/v1/devices?page[size]=1', token).catch(() => undefined);
      await Promise.race([asked, sleep(500)]);
      return false;
    });
    killed.delete(0);
    expect(await server.ended).toBe(1);
    // A slow machine may take the first of them out of the half minute, or see one more start.
    expect(killed.size).toBeGreaterThanOrEqual(5);
    expect(server.output()).toContain(
      'muster: workers end again and again; the last one: SIGKILL. The log says more',
    );
    expect(processesOf(dataDir)).toEqual([]);
  });
});
