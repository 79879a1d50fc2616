import type { AccountDetail, DepAccounts, DepApi } from '../../../src/dep/client/dep-api.js';
import { DepError } from '../../../src/dep/client/dep-error.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { createConfirmAccountTask } from '../../../src/dep/tokens/confirm-account-task.js';
import { AppError } from '../../../src/errors.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';

const DETAIL: AccountDetail = {
  serverName: 'Muster',
  serverUuid: '1F97349736CF4614A94F624E705841AD',
  adminId: 'ada@example.com',
  facilitatorId: null,
  orgName: 'Acme',
  orgEmail: null,
  orgPhone: null,
  orgAddress: null,
  orgId: '7',
  orgIdHash: 'h',
  orgType: 'org',
  orgVersion: 'v2',
};

let test: TestDatabase;
let id: number;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  const { knex } = test.db;
  await knex('dep_accounts').delete();
  await knex.raw('delete from graphile_worker._private_jobs');
  const account = { consumer_key: 'CK_1', status: 'unconfirmed', org_email: 'old@example.com' };
  [{ id }] = await knex('dep_accounts').insert(account, 'id');
});

const row = () => test.db.knex('dep_accounts').where({ id }).first();

async function waiting(): Promise<[task: string, key: string, runAt: Date][]> {
  const { rows } = await test.db.knex.raw(
    `select t.identifier, j.key, j.run_at from graphile_worker._private_jobs j
     join graphile_worker._private_tasks t on t.id = j.task_id order by j.id`,
  );
  return rows.map((job: { identifier: string; key: string; run_at: Date }) => [
    job.identifier,
    job.key,
    job.run_at,
  ]);
}

/** Runs the task with an Apple that answers so. */
async function run(answer: () => Promise<AccountDetail>) {
  const { logger, lines } = capturingLogger();
  const accounts: DepAccounts = {
    use: (accountId, work) =>
      work({ account: answer } as DepApi, { id: accountId, consumerKey: 'CK_1' }),
  };
  const jobs = new DepJobs(createJobQueue());
  const task = createConfirmAccountTask({ db: test.db, accounts, jobs, logger });
  const context = { jobId: 1, attempt: 1, signal: new AbortController().signal };
  await task.run(task.parse({ accountId: id }), context);
  return lines;
}

const failing = (error: Error) => () => Promise.reject(error);

describe('the confirmation of an account', () => {
  it('leaves what Apple refuses to the admin', async () => {
    for (const kind of ['terms_not_signed', 'token_rejected', 'lab_off', 'refused'] as const) {
      expect(await run(failing(new DepError(kind, kind)))).toEqual([]);
    }
    expect((await row()).confirmed_at).toBeNull();
    expect(await waiting()).toEqual([]);
  });

  it('is retried when Apple allows it, or in a minute', async () => {
    const retryAt = new Date(Date.now() + 3_600_000);
    await run(failing(new DepError('throttled', 'busy', { retryAt })));
    expect(await waiting()).toEqual([['dep.confirm', `dep.confirm/${id}`, retryAt]]);
    const before = Date.now();
    await run(failing(new DepError('unreachable', 'away')));
    const [[name, , runAt] = []] = await waiting();
    expect(name).toBe('dep.confirm');
    const wait = (runAt?.getTime() ?? 0) - before;
    expect([wait >= 59_000, wait <= 70_000]).toEqual([true, true]);
  });

  it('ends for a deleted account, and fails after an unexpected error', async () => {
    await run(failing(new AppError('not_found', 404, 'gone')));
    await run(failing(new AppError('no_dep_account', 409, 'no token')));
    await expect(run(failing(new Error('odd')))).rejects.toThrow('odd');
    expect(await waiting()).toEqual([]);
  });

  it('stores nothing for an account that has another token meanwhile', async () => {
    await run(async () => {
      await test.db.knex('dep_accounts').update({ consumer_key: 'CK_2' });
      return DETAIL;
    });
    expect(await row()).toMatchObject({ server_name: null, status: 'unconfirmed' });
    expect(await waiting()).toEqual([]);
  });

  it('stores the account details of Apple, and adds a sync', async () => {
    expect(await run(() => Promise.resolve(DETAIL))).toEqual([]);
    const { confirmed_at, ...account } = await row();
    expect(confirmed_at.getTime()).toBeGreaterThan(Date.now() - 10_000);
    expect(account).toMatchObject({
      server_name: 'Muster',
      server_uuid: DETAIL.serverUuid,
      org_type: 'org',
      org_email: null,
      org_id: '7',
      status: 'ok',
      status_text: null,
    });
    expect((await waiting()).map(([name, key]) => [name, key])).toEqual([
      ['dep.sync', `dep.sync/${id}`],
    ]);
  });

  it('reports another account of the same server', async () => {
    const server_uuid = '1f973497-36cf-4614-a94f-624e705841ad';
    const others = [{ server_uuid, consumer_key: 'CK_typo' }, { server_uuid }];
    const [other] = await test.db.knex('dep_accounts').insert(others, 'id');
    const lines = await run(() => Promise.resolve(DETAIL));
    const said = `the account ${other.id} is of the same server at Apple: keep one account per server`;
    expect(lines.map(({ level, msg, accountId }) => [level, msg, accountId])).toEqual([
      [40, said, id],
    ]);
    expect(await row()).toMatchObject({
      status: 'ok',
      status_text: said,
      status_advice: expect.stringContaining('DELETE /api/v1/dep/accounts/ID'),
    });
    await test.db.knex('dep_accounts').where({ id: other.id }).delete();
    expect(await run(() => Promise.resolve(DETAIL))).toEqual([]);
    expect(await row()).toMatchObject({ status: 'ok', status_text: null, status_advice: null });
  });

  it('reports a token of another server or organization than before', async () => {
    await run(() => Promise.resolve(DETAIL));
    const dashed = '1f973497-36cf-4614-a94f-624e705841ad';
    expect(await run(() => Promise.resolve({ ...DETAIL, serverUuid: dashed }))).toEqual([]);
    const [line] = await run(() => Promise.resolve({ ...DETAIL, orgId: '8' }));
    const said = 'the token belongs to another server at Apple than before: org_id was 7, is now 8';
    expect([line?.msg, line?.accountId]).toEqual([said, id]);
    expect(await row()).toMatchObject({ status: 'ok', status_text: said, org_id: '8' });
  });
});
