import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { createAssignmentTasks } from '../../../src/dep/assignments/assignment-tasks.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { DepRows, FakeDepService } from './fake-dep-service.js';

const UUID = '11111111-aaaa-4aaa-8aaa-111111111111';
const jobs = new DepJobs(createJobQueue());

let database: TestDatabase;
let rows: DepRows;
let apple: FakeDepService;

beforeAll(async () => {
  database = await createTestDatabase();
  rows = new DepRows(database.db);
});
afterAll(() => database.drop());
beforeEach(async () => {
  apple = new FakeDepService();
  await rows.clear();
  await database.db.knex.raw('delete from graphile_worker._private_jobs');
});

function run(name: string, payload: unknown = {}): Promise<void> {
  const { db } = database;
  const profiles = { redefineStale: async () => [] };
  const { logger } = capturingLogger();
  const tasks = createAssignmentTasks({ db, logger, accounts: apple, jobs, profiles });
  const task = tasks.find((each) => each.name === name);
  if (task === undefined) throw new Error(`no task ${name}`);
  const context = { jobId: 1, attempt: 1, signal: new AbortController().signal };
  return task.run(task.parse(payload), context);
}

/** Key and minutes from now of all that waits. */
async function waiting(): Promise<[string, number][]> {
  const found = await database.db.knex('jobs').orderBy('key');
  return found.map(({ key, run_at }) => [
    key,
    Math.round((run_at.getTime() - Date.now()) / 60_000) + 0,
  ]);
}

async function accountWithDue(columns: object = {}): Promise<number> {
  const account = await rows.account(columns);
  const profile = await rows.profile(account);
  await database.db.knex('dep_profiles').where({ id: profile }).update({ uuid: UUID });
  await rows.give([await rows.device(account, `C02ACCOUNT${account}`)], profile);
  return account;
}

describe('the task that runs every minute', () => {
  it('queues a job for accounts with due assignments, and for no others', async () => {
    const due = await accountWithDue();
    const later = await accountWithDue();
    const pending = await accountWithDue();
    await accountWithDue({ access_token: null });
    for (const status of ['terms_not_signed', 'token_rejected', 'token_expired', 'lab_off']) {
      await accountWithDue({ status });
    }
    const inAnHour = new Date(Date.now() + 3_600_000);
    await database.db.knex('dep_devices').where({ dep_account_id: later }).update({
      assignment_due_at: inAnHour,
    });
    await database.db.knex('dep_profiles').where({ dep_account_id: pending }).update({
      status: 'failed',
    });
    await run('dep.assign.due');
    expect(await waiting()).toEqual([[`dep.assign/${due}`, 0]]);
  });

  it('leaves a job that waits for its time unchanged', async () => {
    const account = await accountWithDue({ status: 'throttled' });
    const runAt = new Date(Date.now() + 600_000);
    await inTransaction(database.db, (trx) => jobs.assign(trx, account, { runAt }));
    await run('dep.assign.due');
    expect(await waiting()).toEqual([[`dep.assign/${account}`, 10]]);
  });
});

describe('the task that runs every hour', () => {
  it('reconciles each account with a token, not all at the same time', async () => {
    const [one, two] = [await rows.account(), await rows.account({ status: 'token_rejected' })];
    await rows.account({ access_token: null });
    await inTransaction(database.db, (trx) => jobs.reconcile(trx, two));
    await run('dep.reconcile.all');
    const [first, second] = await waiting();
    expect([first?.[0], second]).toEqual([`dep.reconcile/${one}`, [`dep.reconcile/${two}`, 0]]);
    expect(first?.[1]).toBeLessThanOrEqual(20);
  });
});

it('a reconciliation sends the repairs to Apple, once', async () => {
  const account = await rows.account();
  const profile = await rows.profile(account, { uuid: UUID });
  await database.db.knex('dep_accounts').update({ default_dep_profile_id: profile });
  await rows.device(account, 'C02AAAAAAAA1');
  await run('dep.reconcile', { accountId: account });
  expect(await waiting()).toEqual([[`dep.assign/${account}`, 0]]);
  await run('dep.assign', { accountId: account });
  expect(apple.calls).toEqual([[UUID, ['C02AAAAAAAA1']]]);
  await run('dep.reconcile', { accountId: account });
  await run('dep.assign', { accountId: account });
  expect(apple.calls).toHaveLength(1);
});

it.each(['dep.assign', 'dep.reconcile'])('%s is not run without an account', (name) => {
  expect(() => run(name, { accountId: 'x' })).toThrow('accountId');
});
