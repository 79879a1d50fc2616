import { setTimeout as sleep } from 'node:timers/promises';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, processesOf, type Server, serve } from '../helpers/process.js';
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

const STORED = `
select count(*)::integer as commands, count(distinct c.device_id)::integer as devices,
  count(*) filter (
    where position('<string>' || d.serial_number || '</string>' in convert_from(c.plist, 'UTF8')) > 0
  )::integer as named,
  (select queued from command_batches)::integer as queued,
  (select count(*)::integer from command_batch_slices) as slices
from commands c join devices d on d.id = c.device_id where c.command_batch_id is not null`;

let dataDir: string;
let port: number;
let server: Server;

async function startServer(): Promise<AdminClient> {
  server = await serve({ dataDir, env: { PORT: String(port) } });
  return new AdminClient(server.url, readAdminToken(dataDir));
}

/** Waits for more queued commands than `least`. Returns how many. */
async function queuedAbove(least: number): Promise<number> {
  for (;;) {
    const [row] = await queryEmbedded<{ queued: number }>(
      dataDir,
      'select queued from command_batches',
    );
    if ((row?.queued ?? 0) > least) return row?.queued ?? 0;
    await sleep(10);
  }
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  port = await freePort();
});
afterAll(cleanUp);

describe('kill -9 while the commands of a batch are queued', () => {
  it('leaves each device with one command, no more and no less', async () => {
    const api = await startServer();
    const [tag] = await queryEmbedded<{ id: number }>(dataDir, FILL);
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
    const first = await queuedAbove(0);
    server.kill('SIGKILL');
    expect(await server.ended).toBe('SIGKILL');
    expect(first).toBeLessThan(DEVICES);

    await startServer();
    const second = await queuedAbove(first + 1_000);
    server.kill('SIGKILL');
    for (const pid of processesOf(dataDir)) process.kill(pid, 'SIGKILL');
    expect(await server.ended).toBe('SIGKILL');
    expect(second).toBeLessThan(DEVICES);

    const again = await startServer();
    let state: unknown = 'expanding';
    while (state === 'expanding') {
      await sleep(50);
      state = (await again.call(`/command_batches/${answer.data.id}`)).data.attributes.state;
    }
    expect(state).toBe('running');
    expect(await queryEmbedded(dataDir, STORED)).toEqual([
      { commands: DEVICES, devices: DEVICES, named: DEVICES, queued: DEVICES, slices: 0 },
    ]);
  }, 60_000);
});
