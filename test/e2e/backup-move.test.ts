import { join } from 'node:path';
import { createEmptyDatabase, type TestDatabase } from '../helpers/database.js';
import { preparedDataDir } from '../helpers/prepared-data.js';
import {
  cleanUp,
  freePort,
  newHome,
  type Program,
  run,
  runToEnd,
  type Server,
  serve,
} from '../helpers/process.js';
import { AdminClient, eventually, readAdminToken } from './admin-client.js';
import { DeviceProxy } from './device-proxy.js';

const DEVICES = 8;
const BACKUP_PASSPHRASE = 'correct horse battery staple';

let home: string;
let external: TestDatabase;
let port: number;
let proxy: DeviceProxy;
let proxyUrl: string;
let token: string;
let server: Server;
let simulation: Program;

/** Where the server lives: a directory, and a database unless it is the embedded one. */
interface Place {
  dataDir: string;
  env: Record<string, string>;
}

async function start({ dataDir, env }: Place): Promise<void> {
  server = await serve({ dataDir, env: { PORT: String(port), PUBLIC_URL: proxyUrl, ...env } });
}

async function muster(place: Place, ...args: string[]): Promise<string> {
  const { dataDir, env } = place;
  const { code, output } = await runToEnd(args, { dataDir, env: { BACKUP_PASSPHRASE, ...env } });
  expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
  return output;
}

/** Stops the server, takes all of it along, and starts it in the other place. */
async function move(from: Place, to: Place, name: string): Promise<string> {
  server.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  const file = join(home, name);
  expect(await muster(from, 'backup', file, '--with-master-key')).toMatch(/, encrypted, in /);
  const restored = await muster(to, 'restore', file);
  await start(to);
  return restored;
}

const api = () => new AdminClient(server.url, token);

/** The id and the facts of each device that must not change. */
async function fleet(): Promise<unknown[]> {
  const { list } = await api().call('/devices?sort=id&page[size]=100');
  return list.map(({ id, attributes: { udid, enrollment_state, enrollment_number } }) => {
    return [id, udid, enrollment_state, enrollment_number];
  });
}

/** Queues a command for each device, and resolves once all have done it. */
async function everyDeviceAnswers(): Promise<void> {
  const { list } = await api().call('/devices?sort=id&page[size]=100');
  expect(list).toHaveLength(DEVICES);
  const uuids: string[] = [];
  for (const { id } of list) {
    const { status, data } = await api().queue(id, 'SecurityInfo');
    expect(status).toBe(201);
    uuids.push(String(data.attributes.uuid));
  }
  await eventually(
    async () => {
      const { list: commands } = await api().call('/commands?sort=-id&page[size]=100');
      const mine = commands.filter(({ attributes }) => uuids.includes(String(attributes.uuid)));
      return mine.map(({ attributes }) => attributes.status);
    },
    (states) => states.length === DEVICES && states.every((one) => one === 'Acknowledged'),
    60_000,
  );
}

const enrollments = () => proxy.exchanges.filter(({ kind }) => kind === 'Authenticate').length;

beforeAll(async () => {
  home = newHome();
  external = await createEmptyDatabase();
  port = await freePort();
  proxy = new DeviceProxy([port]);
  proxyUrl = await proxy.listen();
});
afterAll(async () => {
  proxy?.close();
  await cleanUp();
  await external?.drop();
});

describe('a server that moves by backup and restore', () => {
  it('goes from the embedded PostgreSQL to an external one and back, and its devices go on', async () => {
    const first = { dataDir: await preparedDataDir(), env: {} };
    const second = {
      dataDir: join(home, 'second'),
      env: { DATABASE_URL: external.connectionString },
    };
    const third = { dataDir: join(home, 'third'), env: {} };
    await start(first);
    token = readAdminToken(first.dataDir);
    const pace = ['--poll-interval', '0.5', '--concurrency', '4'];
    const args = ['--devices', String(DEVICES), '--forever', '--url', proxyUrl, ...pace];
    simulation = run(['simulate', ...args]);
    await simulation.waitFor(new RegExp(`enrolled ${DEVICES}/${DEVICES}`), 60_000);
    await everyDeviceAnswers();
    const before = await fleet();
    expect(enrollments()).toBe(DEVICES);

    expect(await move(first, second, 'to-external.backup')).toMatch(
      /is whole: made .*\n(.*\n)*restored \d+ tables, \d+ rows, in /,
    );
    expect(await fleet()).toEqual(before);
    await everyDeviceAnswers();

    await move(second, third, 'to-embedded.backup');
    expect(await fleet()).toEqual(before);
    await everyDeviceAnswers();
    expect(enrollments()).toBe(DEVICES);
    expect(proxy.exchanges.filter(({ answer }) => answer === 401 || answer === 403)).toEqual([]);
  }, 240_000);

  it('has the backup in its audit trail, and the restore', async () => {
    const { list } = await api().call('/audit_events?filter[target_type]=backups&sort=id');
    expect(list.map(({ attributes }) => attributes.action)).toEqual([
      ...['backups.restore', 'backups.restore'],
    ]);
  });
});
