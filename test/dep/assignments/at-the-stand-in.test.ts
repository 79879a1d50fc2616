import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { ProfileAssignments } from '../../../src/dep/assignments/profile-assignments.js';
import type { DepAccounts } from '../../../src/dep/client/dep-api.js';
import { createDepServices, type DepServices } from '../../../src/dep/dep-services.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { type DepStandIn, startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { capturingLogger } from '../../http/log-lines.js';
import { type AccountFixture, startAccountFixture } from '../client/account-fixture.js';
import { DepRows, FakeJobs } from './fake-dep-service.js';

const CALL = '/profile/devices';
const DEFINITION = { profile_name: 'Office', url: 'https://mdm.example.com/dep/enroll' };

let fixture: AccountFixture;
let apple: DepStandIn;
let accounts: DepAccounts;
let rows: DepRows;

beforeAll(async () => {
  fixture = await startAccountFixture();
  rows = new DepRows(fixture.db);
  apple = await startDepStandIn({ authority: await createLabAuthority() });
  const clock = { now: () => Date.now(), wait: () => Promise.resolve() };
  accounts = fixture.start({ host: apple.url, ca: apple.caPem, isLabOn: true, clock });
});
afterEach(() => {
  apple.clearFaults();
  apple.intercept(undefined);
});
afterAll(async () => {
  await fixture.stop();
  await apple.close();
});

/** Devices that Apple lists and that are to have the profile, defined there. */
async function start(server: string, count: number) {
  const { consumer_key, consumer_secret, access_token, access_secret } = apple.portal.issueToken({
    server,
  });
  const token = { consumer_key, consumer_secret, access_token, access_secret };
  const accountId = await fixture.addAccount(token);
  const uuid = await accounts.use(accountId, (api) => api.defineProfile(DEFINITION));
  const profileId = await rows.profile(accountId, { uuid });
  const serials = apple.portal.addDevices(server, { family: 'Mac', count });
  const { knex } = fixture.db;
  await knex.raw(
    `insert into devices (serial_number, dep_profile_id) select s, ? from unnest(?::text[]) s`,
    [profileId, serials],
  );
  const jobs = new FakeJobs();
  const { logger } = capturingLogger();
  const assignments = new ProfileAssignments({ db: fixture.db, logger, accounts, jobs });
  apple.resetRequests();
  const send = () => assignments.sendDue(accountId, new AbortController().signal);
  return { accountId, uuid, profileId, serials, jobs, send };
}

/** How many of them Apple has assigned a profile, by its UUID in Apple's form. */
function atApple(serials: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { profile_uuid: uuid = 'none' } of apple.portal.lookUp(serials)) {
    counts[uuid] = (counts[uuid] ?? 0) + 1;
  }
  return counts;
}

const asApple = (uuid: string) => uuid.replaceAll('-', '').toUpperCase();

async function states(accountId: number) {
  const { rows: counted } = await fixture.db.knex.raw(
    `select profile_status as status, assignment_result as result,
       assignment_due_at is not null as due, count(*)
     from dep_devices where dep_account_id = ? group by 1, 2, 3 order by 4 desc`,
    [accountId],
  );
  return counted;
}

it('5,000 devices get their profile, though sessions end and answers are lost in between', async () => {
  const { accountId, uuid, serials, send } = await start('Many', 5_000);
  let calls = 0;
  apple.intercept(({ url }) => {
    if (url.pathname === CALL) calls += 1;
    if (calls === 2) apple.expireSessions();
    if (calls === 4) apple.expireSessions(403);
  });
  apple.addFault({ path: CALL, after: 4, times: 1, obeyed: true, drop: true });
  await send();
  expect(await states(accountId)).toEqual([
    { status: 'assigned', result: 'SUCCESS', due: false, count: 5_000 },
  ]);
  expect(atApple(serials)).toEqual({ [asApple(uuid)]: 5_000 });
  expect(apple.requests()).toMatchObject({ 'GET /session': { 200: 2 } });
}, 20_000);

it('serial numbers that Apple refuses are found among the others, and retried', async () => {
  const { accountId, uuid, serials, send } = await start('Partly', 100);
  const [bad = ''] = serials;
  apple.addFault({ path: CALL, result: 'NOT_ACCESSIBLE', serial_numbers: [bad], times: 1 });
  await send();
  expect(await states(accountId)).toEqual([
    { status: 'assigned', result: 'SUCCESS', due: false, count: 99 },
    { status: null, result: 'NOT_ACCESSIBLE', due: true, count: 1 },
  ]);
  await fixture.db.knex('dep_devices').where({ serial_number: bad }).update({
    assignment_due_at: new Date(),
  });
  await send();
  expect(atApple(serials)).toEqual({ [asApple(uuid)]: 100 });
});

it('during many answers of 429 the assignments wait; the rest follows afterwards', async () => {
  const { accountId, uuid, serials, jobs, send } = await start('Storm', 1_010);
  apple.addFault({ path: CALL, after: 1, status: 429, retry_after: 600 });
  await send();
  expect(await states(accountId)).toEqual([
    { status: 'assigned', result: 'SUCCESS', due: false, count: 1_000 },
    { status: null, result: null, due: true, count: 10 },
  ]);
  expect(jobs.asked).toEqual([['assign', accountId, expect.any(Date)]]);
  const wait = (jobs.asked[0]?.[2]?.getTime() ?? 0) - Date.now();
  expect(Math.round(wait / 60_000)).toBe(10);
  expect((await fixture.status(accountId)).status).toBe('throttled');
  apple.clearFaults();
  await send();
  expect(atApple(serials)).toEqual({ none: 10, [asApple(uuid)]: 1_000 });
  await fixture.db.knex('dep_devices').where({ assignment_due_at: jobs.asked[0]?.[2] }).update({
    assignment_due_at: new Date(),
  });
  await send();
  expect(atApple(serials)).toEqual({ [asApple(uuid)]: 1_010 });
});

it('profiles are unassigned, but only those of this server', async () => {
  const { accountId, uuid, serials, profileId, send } = await start('Taken', 3);
  await send();
  const [taken = '', foreign = '', kept = ''] = serials;
  const other = await accounts.use(accountId, async (api) => {
    const theirs = await api.defineProfile({ ...DEFINITION, profile_name: 'Theirs' });
    await api.assignProfile(theirs, [foreign]);
    return theirs;
  });
  const { knex } = fixture.db;
  await knex('dep_devices').where({ serial_number: foreign }).update({ profile_uuid: other });
  await knex('devices')
    .where({ dep_profile_id: profileId })
    .whereNot({ serial_number: kept })
    .update({ dep_profile_id: null });
  await send();
  expect(atApple([taken, foreign, kept])).toEqual({
    none: 1,
    [asApple(other)]: 1,
    [asApple(uuid)]: 1,
  });
});

it('a definition that Apple no longer has is created again', async () => {
  const { accountId, profileId, jobs, send } = await start('Forgotten', 2);
  apple.addFault({ path: CALL, status: 400, body: 'PROFILE_NOT_FOUND', times: 1 });
  await send();
  expect(jobs.asked).toEqual([['define', profileId]]);
  const profile = await fixture.db.knex('dep_profiles').where({ id: profileId }).first();
  expect([profile.uuid, profile.status, profile.status_text]).toEqual([
    null,
    'pending',
    'PROFILE_NOT_FOUND',
  ]);
  expect(await states(accountId)).toEqual([{ status: null, result: null, due: true, count: 2 }]);
});

describe('an assignment changed at Apple without this server', () => {
  const SERVER = 'Drift';
  const [own, usual, none] = [['DRIFT0', 'DRIFT1'], ['DRIFT2', 'DRIFT3'], ['DRIFT4']];
  const all = [...own, ...usual, ...none];
  let dep: DepServices;
  let accountId: number;
  let profiles: number[];

  /** The jobs that wait, and those that they add, until there are none; those of the clock first. */
  async function work(...names: string[]): Promise<void> {
    const { knex } = fixture.db;
    type Job = { name: string; payload: object };
    let jobs: Job[] = names.map((name) => ({ name, payload: { accountId } }));
    while (jobs.length > 0) {
      for (const { name, payload } of jobs) {
        const task = dep.tasks.find((known) => known.name === name);
        const context = { jobId: 1, attempt: 1, signal: new AbortController().signal };
        await task?.run(task.parse(payload), context);
      }
      const { rows: added } = await knex.raw<{ rows: Job[] }>(
        `with gone as (delete from graphile_worker._private_jobs where run_at <= now() returning *)
         select t.identifier as name, gone.payload from gone
         join graphile_worker._private_tasks t on t.id = gone.task_id order by gone.id`,
      );
      jobs = added;
    }
  }

  /** The profile that Apple has for each, by its place in \`profiles\`. */
  async function got(): Promise<Record<string, number>> {
    const uuids = await fixture.db
      .knex('dep_profiles')
      .whereIn('id', profiles)
      .orderBy('id')
      .pluck('uuid');
    const apples = uuids.map((uuid) => (uuid === null ? '' : asApple(uuid)));
    return Object.fromEntries(
      apple.portal.lookUp(all).map(({ serial_number = '', profile_uuid = '' }) => {
        return [serial_number, apples.indexOf(profile_uuid)];
      }),
    );
  }

  const wanted = { DRIFT0: 0, DRIFT1: 0, DRIFT2: 1, DRIFT3: 1, DRIFT4: -1 };
  const want = (serials: string[], id: number | null) =>
    fixture.db.knex('devices').whereIn('serial_number', serials).update({ dep_profile_id: id });

  beforeAll(async () => {
    const box = new SecretBox(Buffer.alloc(32, 7));
    dep = createDepServices({
      db: fixture.db,
      box,
      logger: capturingLogger().logger,
      jobs: createJobQueue(),
      musterVersion: '1',
      host: apple.url,
      ca: apple.caPem,
      isLabOn: true,
      syncInterval: undefined,
      publicUrl: 'https://mdm.example.com',
      anchorCertificates: () => Promise.resolve([]),
    });
    const { consumer_key, consumer_secret, access_token, access_secret } = apple.portal.issueToken({
      server: SERVER,
    });
    const token = { consumer_key, consumer_secret, access_token, access_secret };
    accountId = await fixture.addAccount(token);
    apple.portal.addDevices(SERVER, { serialNumbers: all });
    const options = { status: 'pending' };
    profiles = [await rows.profile(accountId, options), await rows.profile(accountId, options)];
    await fixture.db.knex('dep_accounts').where({ id: accountId }).update({
      default_dep_profile_id: profiles[1],
    });
    await work('dep.sync');
    await want(own, profiles[0] ?? null);
    await want(none, null);
    await work('dep.reconcile');
    expect(await got()).toEqual(wanted);
  });
  afterAll(() => dep.close());

  it('is repaired after a sync', async () => {
    const server = apple.portal.server(SERVER);
    const theirs = server.define({ ...DEFINITION, profile_name: 'Theirs' });
    const ours = server.find('DRIFT2')?.profile ?? '';
    server.unassign('DRIFT0');
    server.assign('DRIFT1', theirs);
    server.assign('DRIFT3', theirs);
    server.assign('DRIFT4', ours);
    await work('dep.sync');
    expect(await got()).toEqual(wanted);
    const { reconcile_report } = await fixture.db
      .knex('dep_accounts')
      .where({ id: accountId })
      .first();
    expect(reconcile_report).toMatchObject({ reassigned: 3, unassigned: 1, auto_assigned: 0 });
  });

  it('is repaired when Apple no longer has the definition', async () => {
    const { knex } = fixture.db;
    const before = await knex('dep_profiles').whereIn('id', profiles).orderBy('id').pluck('uuid');
    apple.portal.forgetProfiles(SERVER);
    // Instead of waiting ten minutes until an unknown definition is made again.
    const last_upload_at = new Date(Date.now() - 11 * 60_000);
    await knex('dep_profiles').whereIn('id', profiles).update({ last_upload_at });
    await work('dep.sync');
    expect(await got()).toEqual(wanted);
    const after = await knex('dep_profiles').whereIn('id', profiles).orderBy('id').pluck('uuid');
    expect(after.filter((uuid) => before.includes(uuid))).toEqual([]);
    const failing = knex('dep_devices')
      .where({ dep_account_id: accountId })
      .whereNotNull('last_error');
    expect(await failing).toEqual([]);
  });
});
