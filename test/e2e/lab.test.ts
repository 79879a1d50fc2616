import { setTimeout as sleep } from 'node:timers/promises';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, type Program, processesOf, run, runToEnd } from '../helpers/process.js';
import { AdminClient, eventually, readAdminToken } from './admin-client.js';

const ANSWER_MS = 5_000;
const STOP_MS = 10_000;

afterAll(cleanUp);

async function leftAfter(dataDir: string): Promise<number[]> {
  const end = Date.now() + STOP_MS;
  while (processesOf(dataDir).length > 0 && Date.now() < end) await sleep(50);
  return processesOf(dataDir);
}

describe('muster lab refuses', () => {
  it.each([
    ['a server that others reach', { PUBLIC_URL: 'https://mdm.example.com' }, 'PUBLIC_URL'],
    ['another push service', { APNS_HOST: 'https://localhost:2197' }, 'APNS_HOST'],
    ['a port that devices cannot reach', { PORT: '0' }, 'PORT: devices cannot reach port 0'],
  ])('%s', async (_what, env, problem) => {
    const { code, output } = await runToEnd(['lab'], { env });
    expect(output).toContain(problem);
    expect(code).toBe(2);
  });
});

describe('muster lab', () => {
  let dataDir: string;
  let lab: Program;
  let api: AdminClient;

  beforeAll(async () => {
    dataDir = await preparedDataDir();
    const port = await freePort();
    lab = run(['lab', '--devices', '3'], { dataDir, env: { PORT: String(port) } });
    await lab.waitFor(/Ctrl-C ends everything/, 60_000);
    api = new AdminClient(`http://localhost:${port}`, readAdminToken(dataDir));
  }, 90_000);

  it('has enrolled the devices that it lists, and prints no log', async () => {
    const { list } = await api.call('/devices?sort=id');
    const output = lab.output();
    for (const { id, attributes } of list) {
      expect(attributes).toMatchObject({ is_enrolled: true, last_push_result: 'delivered' });
      expect(output).toMatch(
        new RegExp(`^ {2}${id} +${attributes.platform} +${attributes.serial_number} `, 'm'),
      );
    }
    expect(list).toHaveLength(3);
    expect(output).not.toContain('"level"');
  });

  it('answers a command within seconds though no device polls', async () => {
    const { list } = await api.call('/devices?sort=id');
    for (const { id } of list) {
      const queued = await api.call(`/devices/test/${id}`, {});
      expect(queued.status).toBe(201);
      const done = await eventually(
        () => api.call(`/commands/${queued.data.id}`),
        ({ data }) => data.attributes.status !== 'Queued' && data.attributes.status !== 'Sent',
        ANSWER_MS,
      );
      expect(done.data.attributes.status).toBe('Acknowledged');
      await lab.waitFor(
        new RegExp(`^\\d\\d:\\d\\d:\\d\\d {2}${id} .*: DeviceInformation Ack`, 'm'),
      );
    }
  });

  it('ends with Ctrl-C, and nothing is left', async () => {
    expect(processesOf(dataDir)).not.toEqual([]);
    lab.killGroup('SIGINT');
    expect(await lab.ended).toBe(0);
    expect(await leftAfter(dataDir)).toEqual([]);
  });
});
