import type pg from 'pg';
import { preparedDataDir } from '../helpers/prepared-data.js';
import {
  cleanUp,
  freePort,
  type Program,
  processesOf,
  run,
  type Server,
  serve,
} from '../helpers/process.js';
import { AdminClient, eventually, readAdminToken } from './admin-client.js';
import { DeviceProxy } from './device-proxy.js';
import { queryEmbedded } from './embedded-query.js';

const DEVICES = 20;
const TYPES = ['ProfileList', 'SecurityInfo', 'CertificateList', 'InstalledApplicationList'];
const ROUNDS = 2;
const FINAL = ['Acknowledged', 'Error', 'CommandFormatError'];

interface CommandRow {
  uuid: string;
  status: string;
}

let dataDir: string;
let port: number;
let proxy: DeviceProxy;
let proxyUrl: string;
let server: Server;
let simulation: Program;

/** Each start finds the same directory and the same port. */
async function startServer(): Promise<Server> {
  return await serve({ dataDir, env: { PORT: String(port), PUBLIC_URL: proxyUrl } });
}

async function killServer(): Promise<void> {
  server.kill('SIGKILL');
  expect(await server.ended).toBe('SIGKILL');
}

/** Resolves while the answer that makes `isEnough` true is on its way. */
function seen(isEnough: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    proxy.onAnswer = () => {
      if (!isEnough()) return;
      proxy.onAnswer = () => undefined;
      resolve();
    };
  });
}

function query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  return queryEmbedded<Row>(dataDir, text);
}

function allCommands(): Promise<CommandRow[]> {
  return query<CommandRow>('select uuid::text, status from commands');
}

/** What is not final or not handled yet, with the last exchange of its device. */
async function unfinishedCommands() {
  const rows = await query<{ udid: string }>(
    `select lower(d.udid) as udid, c.uuid, c.request_type, c.status, c.reason, c.needs_handling,
       c.attempts, c.ttl, c.sent_at, c.after, c.expires_at
     from commands c join devices d on d.id = c.device_id
     where c.status not in ('Acknowledged', 'Error', 'CommandFormatError') or c.needs_handling`,
  );
  return rows.map((row) => {
    const last = proxy.exchanges.findLast(({ udid }) => udid.toLowerCase() === row.udid);
    return { ...row, last };
  });
}

/** The number of answers to commands that the server has stored. */
function countStoredReports(): number {
  return proxy.exchanges.filter(({ kind, answer }) => FINAL.includes(kind) && answer === 200)
    .length;
}

beforeAll(async () => {
  dataDir = await preparedDataDir();
  port = await freePort();
  proxy = new DeviceProxy([port]);
  proxyUrl = await proxy.listen();
  server = await startServer();
  const pace = ['--poll-interval', '0.5', '--concurrency', '4'];
  const args = ['--devices', String(DEVICES), '--forever', '--url', proxyUrl, ...pace];
  simulation = run(['simulate', ...args]);
});
afterAll(async () => {
  proxy.close();
  await cleanUp();
});

describe('kill -9 of the server in the middle of a simulation', () => {
  it('during enrollment: the devices go on and each is enrolled once', async () => {
    await seen(
      () => proxy.exchanges.filter(({ kind }) => kind === 'TokenUpdate').length >= DEVICES / 3,
    );
    await killServer();
    server = await startServer();
    const counts = () =>
      query<{ enrolled: number; all: number }>(
        `select count(*)::int as all, count(*) filter (where is_enrolled)::int as enrolled
         from devices`,
      );
    const enrolled = await eventually(counts, ([row]) => row?.enrolled === DEVICES);
    expect(enrolled).toEqual([{ enrolled: DEVICES, all: DEVICES }]);
  }, 60_000);

  it('among commands: none accepted is lost, with PostgreSQL killed as well', async () => {
    const devices = await query<{ id: number }>('select id::int from devices order by id');
    const before = countStoredReports();
    const enough = seen(() => countStoredReports() >= before + DEVICES);
    const accepted: string[] = [];
    const queueAll = async () => {
      const api = new AdminClient(server.url, readAdminToken(dataDir));
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const { id } of devices) {
          for (const type of TYPES) {
            const { status, data } = await api.queue(id, type);
            if (status === 201) accepted.push(String(data.attributes.uuid));
          }
        }
      }
    };
    const queueing = queueAll().catch(() => 'the server was gone');
    await enough;
    await killServer();
    await queueing;
    for (const pid of processesOf(dataDir)) process.kill(pid, 'SIGKILL');
    server = await startServer();
    await queueAll();

    await eventually(unfinishedCommands, (rows) => rows.length === 0, 60_000);
    const rows = await allCommands();
    expect(accepted.length).toBeGreaterThan(DEVICES * TYPES.length * ROUNDS);
    const statusOf = new Map(rows.map((row) => [row.uuid, row.status]));
    expect(accepted.filter((uuid) => statusOf.get(uuid) !== 'Acknowledged')).toEqual([]);
  }, 120_000);

  it('what a device has answered stays answered and is never offered again', async () => {
    const statusOf = new Map((await allCommands()).map((row) => [row.uuid, row.status]));
    const answered = new Set<string>();
    const lost: string[] = [];
    const repeated: string[] = [];
    for (const { kind, commandUuid, answer, offered } of proxy.exchanges) {
      if (commandUuid !== undefined && FINAL.includes(kind) && answer === 200) {
        answered.add(commandUuid);
        if (statusOf.get(commandUuid) !== kind) lost.push(commandUuid);
      }
      if (offered !== undefined && answered.has(offered)) repeated.push(offered);
    }
    expect({ lost, repeated }).toEqual({ lost: [], repeated: [] });
    expect(answered.size).toBe(statusOf.size);
    expect(proxy.exchanges.some(({ answer }) => answer === undefined)).toBe(true);
  });

  it('the inventory is whole, and the simulation has answered each command once', async () => {
    const bare = await query<{ serial_number: string }>(
      `select serial_number from devices d where model is null or os_version is null
         or not exists (select from installed_applications a where a.device_id = d.id)
         or not exists (select from installed_certificates c where c.device_id = d.id)`,
    );
    expect(bare).toEqual([]);
    const total = (await allCommands()).length;
    simulation.kill('SIGINT');
    expect(await simulation.ended).toBe(0);
    expect(simulation.output()).toContain(`${DEVICES} of ${DEVICES} enrolled`);
    expect(simulation.output()).toContain(`${total} answered`);
  });
});
