import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { AccountSync } from '../../../src/dep/sync/account-sync.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { type DepStandIn, startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { capturingLogger } from '../../http/log-lines.js';
import { jobRows } from '../../jobs/helpers.js';
import { type AccountFixture, startAccountFixture } from '../client/account-fixture.js';

const FETCH = '/server/devices';

let fixture: AccountFixture;
let apple: DepStandIn;
let sync: (accountId: number) => Promise<void>;

beforeAll(async () => {
  fixture = await startAccountFixture();
  apple = await startDepStandIn({ authority: await createLabAuthority() });
  const clock = { now: () => Date.now(), wait: () => Promise.resolve() };
  const accounts = fixture.start({ host: apple.url, ca: apple.caPem, isLabOn: true, clock });
  const { logger } = capturingLogger();
  const jobs = new DepJobs(createJobQueue());
  const syncs = new AccountSync({ db: fixture.db, logger, jobs, accounts, syncInterval: 900_000 });
  sync = (accountId) => syncs.sync({ accountId }, new AbortController().signal);
});
beforeEach(async () => {
  await fixture.db.knex('devices').delete();
  await fixture.db.knex.raw('delete from graphile_worker._private_jobs');
  apple.resetRequests();
});
afterEach(() => {
  apple.clearFaults();
  apple.intercept(undefined);
});
afterAll(async () => {
  await fixture.stop();
  await apple.close();
});

function tokenOf(server: string) {
  const { consumer_key, consumer_secret, access_token, access_secret } = apple.portal.issueToken({
    server,
  });
  return { consumer_key, consumer_secret, access_token, access_secret };
}

async function listed(accountId: number): Promise<string[]> {
  const rows = fixture.db.knex('dep_devices').where({ dep_account_id: accountId });
  return await rows.whereNull('removed_at').orderBy('serial_number').pluck('serial_number');
}

/** What Apple has, by its own account. */
function atApple(server: string): string[] {
  const { devices } = apple.portal.server(server);
  return devices.flatMap((device) => (device.isGone ? [] : [device.serial])).sort();
}

const account = (id: number) => fixture.db.knex('dep_accounts').where({ id }).first();

/** Before the n-th page of all devices is answered. */
function onPage(number: number, act: () => void | Promise<void>): void {
  let pages = 0;
  apple.intercept(async ({ url }) => {
    if (url.pathname === FETCH) pages += 1;
    if (url.pathname === FETCH && pages === number) await act();
  });
}

it('2,000 devices and the changes meanwhile are read, though the session ends and Apple is busy', async () => {
  const accountId = await fixture.addAccount(tokenOf('Many'));
  const serials = apple.portal.addDevices('Many', { family: 'Mac', count: 2_000 });
  onPage(2, () => {
    apple.expireSessions();
    apple.portal.removeDevices('Many', serials.slice(0, 3));
    apple.portal.addDevices('Many', { family: 'iPad', count: 2 });
  });
  apple.addFault({ path: FETCH, after: 1, times: 3, status: 429, retry_after: 1 });
  await sync(accountId);
  expect(await listed(accountId)).toEqual(atApple('Many'));
  expect(await listed(accountId)).toHaveLength(10 + 2_000 - 3 + 2);
  expect(await account(accountId)).toMatchObject({ sync_error: null, sync_state: 'idle' });
  expect(await fixture.db.knex('devices').where({ is_dep: true })).toHaveLength(2_009);
});

it('a cursor that expires in the middle makes the sync start again', async () => {
  const accountId = await fixture.addAccount(tokenOf('Expired'));
  apple.portal.addDevices('Expired', { count: 1_000 });
  onPage(2, () => apple.portal.expireCursors());
  await sync(accountId);
  expect(await listed(accountId)).toEqual(atApple('Expired'));
  expect(await account(accountId)).toMatchObject({ fetch_number: 2, sync_error: null });
});

it('after a token of another server is stored in the middle, no device of the former is stored', async () => {
  const accountId = await fixture.addAccount(tokenOf('Former'));
  apple.portal.addDevices('Former', { count: 1_000 });
  onPage(2, () => fixture.changeAccount(accountId, tokenOf('Present')));
  await sync(accountId);
  expect(await listed(accountId)).toHaveLength(1_000);
  expect(await jobRows(fixture.db)).toMatchObject([{ key: `dep.sync/${accountId}` }]);
  await sync(accountId);
  expect(await listed(accountId)).toEqual(atApple('Present'));
});

it('a renewed token of the same server that is stored in the middle is used from then on', async () => {
  const accountId = await fixture.addAccount(tokenOf('Renewed'));
  apple.portal.addDevices('Renewed', { count: 1_000 });
  onPage(1, () => fixture.changeAccount(accountId, tokenOf('Renewed')));
  await sync(accountId);
  expect(await listed(accountId)).toEqual(atApple('Renewed'));
  expect(await account(accountId)).toMatchObject({ sync_error: null, fetch_number: 1 });
});
