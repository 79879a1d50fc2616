import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type ServerProcess, startServerProcess } from '../../bench/load/server-process.js';
import { type DepStandIn, startDepStandIn } from '../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../src/lab/pki/lab-authority.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { AdminClient, eventually } from './admin-client.js';

const DEVICES = 2_000;
/** What a new server at the stand-in has before. */
const FIRST = 10;
const PAGE = 1_000;
const TOKEN = 'admin-token-of-the-tests';
/** Held by the transaction that stores pages (db/dep/dep-sync-page.ts). */
const SERIAL_LOCK = [0x6d757374, 0x64657073];

let apple: DepStandIn;
let database: TestDatabase;
let start: () => Promise<ServerProcess>;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  apple = await startDepStandIn({ authority: await createLabAuthority(), mark: 'CK_test' });
  database = await createTestDatabase();
  const dataDir = temporaryDirectory();
  const DEP_CA_FILE = join(dataDir, 'dep-ca.pem');
  writeFileSync(DEP_CA_FILE, apple.caPem);
  const settings = {
    DEP_HOST: apple.url,
    DEP_CA_FILE,
    ADMIN_TOKEN: TOKEN,
    INVENTORY_INTERVAL: 'off',
    MASTER_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: 'https://mdm.example.com',
  };
  start = async () => {
    const databaseUrl = database.connectionString;
    const server = await startServerProcess({ databaseUrl, dataDir, settings });
    servers.push(server);
    return server;
  };
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  await database.drop();
  await apple.close();
  removeTemporaryDirectories();
});

const adminOf = ({ port }: ServerProcess) => new AdminClient(`http://127.0.0.1:${port}`, TOKEN);

async function uploadToken({ port }: ServerProcess): Promise<number> {
  const url = `http://127.0.0.1:${port}/dep`;
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const certificate = await fetch(`${url}/certificate/download`, { headers });
  const body = apple.portal.issueTokenFile(Buffer.from(await certificate.arrayBuffer()));
  const type = { 'Content-Type': 'application/pkcs7-mime' };
  const upload = await fetch(`${url}/stoken/upload`, {
    method: 'POST',
    body: new Uint8Array(body),
    headers: { ...headers, ...type },
  });
  expect(upload.status).toBe(201);
  return ((await upload.json()) as { data: { id: number } }).data.id;
}

const account = () => database.db.knex('dep_accounts').first();
const stored = () =>
  database.db.knex('dep_devices').orderBy('serial_number').pluck('serial_number');
const inOrder = (serials: string[]) => serials.toSorted((one, other) => (one < other ? -1 : 1));
/** In the order in which Apple lists them. */
const listed = (): string[] => apple.portal.server().devices.map(({ serial }) => serial);

/** From the n-th page on nobody stores one until the lock is released. */
async function holdPages(
  number: number,
): Promise<{ isWaitedFor(): Promise<void>; end(): Promise<void> }> {
  const holder = new pg.Client({ connectionString: database.connectionString });
  await holder.connect();
  let pages = 0;
  apple.intercept(async ({ url }) => {
    if (url.pathname === '/server/devices') pages += 1;
    if (pages === number) await holder.query('select pg_advisory_lock($1, $2)', SERIAL_LOCK);
  });
  const waiting = `select 1 from pg_locks
    where locktype = 'advisory' and (classid, objid) = ($1, $2) and not granted`;
  const look = async () => (await holder.query(waiting, SERIAL_LOCK)).rowCount;
  return {
    isWaitedFor: async () => {
      await eventually(look, (count) => count === 1);
    },
    end: async () => {
      apple.intercept(undefined);
      await holder.end();
    },
  };
}

let accountId: number;

it('killed between a page and its cursor, a server leaves neither of them behind', async () => {
  apple.portal.addDevices(undefined, { family: 'Mac', count: DEVICES });
  const victim = await start();
  const pages = await holdPages(2);
  accountId = await uploadToken(victim);
  await pages.isWaitedFor();
  const before = await account();
  await victim.kill();
  await pages.end();
  expect(await stored()).toEqual(inOrder(listed().slice(0, PAGE)));
  expect(await account()).toEqual(before);
  expect(before).toMatchObject({ sync_state: 'running', sync_pages: 1, sync_devices: PAGE });
});

it('two others that are asked at once go on where it was, and each device is stored once', async () => {
  const both = await Promise.all([start(), start()]);
  // In place of waiting until the dead one's lease has ended.
  await database.db.knex('dep_accounts').update({ sync_lease_until: new Date() });
  const path = `/dep/accounts/${accountId}/sync`;
  const asked = await Promise.all(
    both.flatMap((one) => [1, 2].map(() => adminOf(one).call(path, {}))),
  );
  expect(asked.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
  const ended = await eventually(
    account,
    ({ sync_state, sync_finished_at }) => sync_state === 'idle' && sync_finished_at !== null,
  );
  expect(await stored()).toEqual(inOrder(listed()));
  expect(ended).toMatchObject({ fetch_number: 1, sync_error: null });
  expect(await database.db.knex('devices').where({ is_dep: true }).count()).toEqual([
    { count: DEVICES + FIRST },
  ]);
});

it('and together they give each device the profile, of one definition', async () => {
  const [one, other] = servers.slice(1).map(adminOf);
  if (one === undefined || other === undefined) throw new Error('too few servers');
  const ofAccount = { dep_account: { data: { type: 'dep_accounts', id: accountId } } };
  const attributes = { profile_name: 'Office' };
  const profile = { type: 'dep_profiles', attributes, relationships: ofAccount };
  const { data } = await one.call('/dep/profiles', { data: profile });
  await database.db.knex('dep_accounts').update({ default_dep_profile_id: data.id });
  const path = `/dep/accounts/${accountId}`;
  await Promise.all([one, other].map((admin) => admin.call(`${path}/sync`, {})));
  const funnel = await eventually(
    async () => (await other.call(`${path}/funnel`)).data.attributes,
    ({ assigned_or_beyond }) => assigned_or_beyond === DEVICES + FIRST,
  );
  expect(funnel).toMatchObject({ total: DEVICES + FIRST, assignment_due: 0, failing: 0 });
  const [definition, ...others] = await database.db.knex('dep_profile_definitions');
  expect(others).toEqual([]);
  const uuid = definition.uuid.replaceAll('-', '').toUpperCase();
  expect(new Set(apple.portal.server().devices.map((device) => device.profile))).toEqual(
    new Set([uuid]),
  );
  expect(apple.requests()).toMatchObject({ 'POST /profile': { 200: 1 } });
});
