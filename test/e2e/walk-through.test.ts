import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../src/logger.js';
import {
  cleanUp,
  freePort,
  newHome,
  ROOT,
  run,
  runToEnd,
  type Server,
  serve,
} from '../helpers/process.js';
import { AdminClient, eventually, readAdminToken } from './admin-client.js';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

let server: Server;
let api: AdminClient;

/** The same query as SQL, on the server's own database. */
async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[]) {
  const { dataDir } = server;
  const { connection } = await openEmbedded({
    dataDir,
    mode: 'use',
    logger: createLogger('silent'),
  });
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  const dataDir = join(newHome(), 'data');
  server = await serve({ dataDir, npm: true, env: { PORT: String(await freePort()) } });
  api = new AdminClient(server.url, readAdminToken(dataDir));
});
afterAll(cleanUp);

describe('the README, step by step', () => {
  it('names the commands that are used here', () => {
    for (const command of [
      'npm ci && npm start',
      'npm ci && npm test',
      'npm run simulate -- --devices 20\n',
      'npm run simulate -- --devices 5 --platform iOS --forever',
      '/installed_applications?sort=-bundle_size&page[size]=5',
      '/clear_passcode',
    ]) {
      expect(readme).toContain(command);
    }
  });

  it('twenty simulated devices enroll and answer', async () => {
    const args = ['simulate', '--devices', '20', '--url', server.url];
    const { code, output } = await runToEnd(args, { npm: true });
    expect(output).toMatch(/^Devices: {2}20 of 20 enrolled$/m);
    expect(output).toMatch(/^Commands: (\d+) answered \(\1 Acknowledged\)$/m);
    expect(code).toBe(0);
  }, 60_000);

  it('lists twenty devices with model, OS version and serial number', async () => {
    const { status, list, meta } = await api.call(
      '/devices?fields[devices]=model,os_version,serial_number',
    );
    expect(status).toBe(200);
    expect(meta).toEqual({ count: 20, total: 20 });
    for (const { attributes } of list) {
      expect(attributes).toEqual({
        model: expect.stringMatching(/^[\w,]+$/),
        os_version: expect.stringMatching(/^\d+(\.\d+)+$/),
        serial_number: expect.stringMatching(/^[A-Z0-9]{10,12}$/),
      });
    }
    const serials = new Set(list.map(({ attributes }) => attributes.serial_number));
    expect(serials.size).toBe(20);
  });

  it('shows the five largest applications of a device as the database holds them', async () => {
    const devices = await api.call('/devices');
    for (const { id } of devices.list) {
      const answer = await api.call(
        `/devices/${id}/installed_applications?sort=-bundle_size&page[size]=5`,
      );
      const rows = await query<{ id: number; total: number }>(
        `select id::int, count(*) over ()::int as total from installed_applications
         where device_id = $1 order by bundle_size desc nulls last, id limit 5`,
        [id],
      );
      expect(rows).toHaveLength(5);
      expect(answer.list.map((one) => one.id)).toEqual(rows.map((row) => row.id));
      expect(answer.meta).toEqual({ count: 5, total: rows[0]?.total });
      const sizes = answer.list.map(({ attributes }) => Number(attributes.bundle_size));
      expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    }
  });

  it('clear_passcode on an iPhone goes from Queued over Sent to Acknowledged', async () => {
    const pace = ['--poll-interval', '1'];
    const args = ['--devices', '5', '--platform', 'iOS', '--forever', '--url', server.url, ...pace];
    const simulation = run(['simulate', ...args], { npm: true });
    const newest = '/devices?sort=-id&page[size]=5&filter[platform]=iOS&filter[is_enrolled]=true';
    await simulation.waitFor(/enrolled 5\/5/);
    const { list } = await api.call(newest);
    const queued = await api.call(`/devices/${list[0]?.id}/clear_passcode`, {});
    expect(queued.status).toBe(201);
    expect(queued.data.attributes).toMatchObject({
      request_type: 'ClearPasscode',
      status: 'Queued',
      sent_at: null,
      acknowledged_at: null,
      parameters: { UnlockToken: '********' },
    });
    const done = await eventually(
      () => api.call(`/commands/${queued.data.id}`),
      ({ data }) => data.attributes.status === 'Acknowledged',
    );
    const { sent_at, acknowledged_at, queued_at } = done.data.attributes;
    const times = [queued_at, sent_at, acknowledged_at].map((time) => Date.parse(String(time)));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    simulation.killGroup('SIGINT');
    await simulation.ended;
    expect(simulation.output()).toContain('5 of 5 enrolled');
  }, 60_000);
});
