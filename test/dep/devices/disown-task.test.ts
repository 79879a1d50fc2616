import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { requestDisown } from '../../../src/db/dep/dep-device-actions.js';
import { DepError } from '../../../src/dep/client/dep-error.js';
import { ExchangeFailure } from '../../../src/dep/client/exchange-failure.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { createDisownTask } from '../../../src/dep/devices/disown-task.js';
import { AppError } from '../../../src/errors.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { Apple, addAccount, addListed } from './listed-devices.js';

let database: TestDatabase;
let apple: Apple;
let accountId: number;
let ids: number[];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  apple = new Apple();
  for (const table of ['dep_accounts', 'devices']) await knex()(table).delete();
  await knex().raw('delete from graphile_worker._private_jobs');
  accountId = await addAccount(knex());
  ids = [];
  for (const serial_number of ['C02A', 'C02B']) {
    const due = { assignment_due_at: new Date() };
    const { id } = await addListed(knex(), { dep_account_id: accountId, serial_number, ...due });
    ids.push(id);
  }
  await inTransaction(database.db, (trx) => requestDisown(trx, ids));
});

const knex = () => database.db.knex;
const { logger, lines } = capturingLogger();

async function run(): Promise<void> {
  const queue = createJobQueue();
  const jobs = new DepJobs(queue);
  const task = createDisownTask({ db: database.db, accounts: apple, queue, jobs, logger });
  const context = { jobId: 1, attempt: 1, signal: new AbortController().signal };
  await task.run(task.parse({ accountId, ids }), context);
}

const rows = () =>
  knex()('dep_devices')
    .orderBy('id')
    .select('disown_result', 'disowned_at', 'assignment_due_at', 'last_error', 'last_error_at');
const results = async () => (await rows()).map(({ disown_result }) => disown_result);
const errors = async () => (await rows()).map(({ last_error }) => last_error);
const waiting = () => knex()('jobs').orderBy('id').select('task', 'run_at');

describe('a disowned device', () => {
  it('shows what Apple answered for it, and a sync follows', async () => {
    apple.results.set('C02B', 'NOT_ACCESSIBLE');
    await run();
    expect(apple.disowned).toEqual([['C02A', 'C02B']]);
    const [gone, kept] = await rows();
    expect(gone).toMatchObject({ disown_result: 'SUCCESS', assignment_due_at: null });
    expect([gone.last_error, gone.last_error_at]).toEqual([null, null]);
    expect(gone.disowned_at).toBeInstanceOf(Date);
    expect(kept).toMatchObject({ disown_result: 'NOT_ACCESSIBLE', disowned_at: null });
    expect(kept.last_error).toBe('disown: NOT_ACCESSIBLE');
    expect(kept.last_error_at).toBeInstanceOf(Date);
    expect(kept.assignment_due_at).toBeInstanceOf(Date);
    expect(await waiting()).toMatchObject([{ task: 'dep.sync' }]);
    expect(lines.at(-1)).toMatchObject({ depAccountId: accountId, devices: 2, disowned: 1 });
  });

  it('has its disown error cleared by success, and no error of another kind', async () => {
    const [first = 0, second = 0] = ids;
    const error = (id: number, last_error: string) =>
      knex()('dep_devices').where({ id }).update({ last_error, last_error_at: new Date() });
    await error(first, 'disown: NOT_ACCESSIBLE');
    await error(second, 'enrollment: refused');
    await run();
    expect(await errors()).toEqual([null, 'enrollment: refused']);
  });

  it('is sent to Apple once, however often the job runs', async () => {
    await run();
    await run();
    expect(apple.disowned).toHaveLength(1);
    expect(await results()).toEqual(['SUCCESS', 'SUCCESS']);
  });

  it('gets the result no_answer when Apple returns none for it', async () => {
    apple.results.set('C02A', null);
    await run();
    expect(await results()).toEqual(['no_answer', 'SUCCESS']);
  });
});

describe('a disown whose outcome at Apple is unknown', () => {
  it.each([
    ['no answer came', new DepError('unreachable', 'does not answer in time')],
    [
      'the connection broke on the way',
      new DepError('unreachable', 'broke', {
        cause: new ExchangeFailure('broke', { mayHaveArrived: true }),
      }),
    ],
    ['its server failed', new DepError('unreachable', 'answers 503', { status: 503 })],
  ])('is not repeated because %s', async (_why, fault) => {
    apple.fault = fault;
    await run();
    expect(await results()).toEqual(['no_answer', 'no_answer']);
    expect(await errors()).toEqual(
      Array(2).fill(`disown: ${fault.message}; the next sync shows whether Apple disowned it`),
    );
    apple.fault = undefined;
    await run();
    expect([apple.disowned, await waiting()]).toEqual([[], []]);
  });

  it('is not repeated after its process ended in the middle', async () => {
    apple.afterwards = () => Promise.reject(new Error('killed'));
    await expect(run()).rejects.toThrow('killed');
    expect(await results()).toEqual(['sent', 'sent']);
    apple.afterwards = () => Promise.resolve();
    await run();
    expect(await results()).toEqual(['no_answer', 'no_answer']);
    expect(apple.disowned).toHaveLength(1);
  });

  it('has a late result stored', async () => {
    // The same job runs in another process while Apple takes its time.
    apple.afterwards = () => run();
    await run();
    expect(apple.disowned).toHaveLength(1);
    expect(await results()).toEqual(['SUCCESS', 'SUCCESS']);
  });
});

describe('a disown that Apple certainly did not carry out', () => {
  const SURE = [
    new DepError('terms_not_signed', 'new terms', { status: 403, text: 'T_C_NOT_SIGNED' }),
    new DepError('token_rejected', 'not taken', { status: 401 }),
    new DepError('token_expired', 'expired'),
    new DepError('lab_off', 'the lab is off'),
    new DepError('refused', 'refused', { status: 400 }),
    new DepError('unreachable', 'cannot be found', {
      cause: new ExchangeFailure('cannot be found', { mayHaveArrived: false }),
    }),
    new AppError('no_dep_account', 409, 'no token'),
  ];

  it.each(SURE.map((fault) => [fault.message, fault] as const))(
    'shows the reason: %s',
    async (_why, fault) => {
      apple.fault = fault;
      await run();
      expect(await results()).toEqual(['refused', 'refused']);
      expect((await errors())[0]).toMatch(`disown: ${fault.message}`);
      expect(await waiting()).toEqual([]);
    },
  );

  it('is repeated at the time that Apple names after too many calls', async () => {
    const retryAt = new Date(Date.now() + 90_000);
    apple.fault = new DepError('throttled', 'too often', { status: 429, retryAt });
    await run();
    expect(await results()).toEqual(['requested', 'requested']);
    expect(await waiting()).toEqual([{ task: 'dep.disown', run_at: retryAt }]);
    apple.fault = undefined;
    await run();
    expect([await results(), await errors()]).toEqual([
      ['SUCCESS', 'SUCCESS'],
      [null, null],
    ]);
  });

  it('fails its job after an unexpected error, and is not repeated', async () => {
    apple.fault = new TypeError('a mistake');
    await expect(run()).rejects.toThrow('a mistake');
    expect(await results()).toEqual(['sent', 'sent']);
  });
});
