import type { Database } from '../../src/db/connection/database.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { jobRows, noJobsLeft, recordingTask, startRunner, stopRunners, until } from './helpers.js';

const queue = createJobQueue();
const TASK = { name: 'test.record' };

let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
});
afterEach(async () => {
  await stopRunners();
  await db.knex.raw('delete from graphile_worker._private_jobs');
});
afterAll(() => test.drop());

function add(payload: object, options?: Parameters<typeof queue.add>[3]): Promise<void> {
  return inTransaction(db, (trx) => queue.add(trx, TASK, payload, options));
}

describe('a job', () => {
  it('written in a transaction that is rolled back never runs, one that is committed runs once', async () => {
    const { task, runs } = recordingTask('test.record');
    await startRunner({ db, tasks: [task] });
    const lost = inTransaction(db, async (trx) => {
      await queue.add(trx, TASK, { n: 'lost' });
      throw new Error('no');
    });
    await expect(lost).rejects.toThrow();
    await add({ n: 'kept' });
    await noJobsLeft(db);
    expect(runs).toEqual([{ n: 'kept' }]);
  });

  it('is not seen by workers before the commit', async () => {
    const { task, runs } = recordingTask('test.record');
    await startRunner({ db, tasks: [task] });
    await inTransaction(db, async (trx) => {
      await queue.add(trx, TASK, { n: 1 });
      await trx.raw('select pg_sleep(0.5)');
      expect(runs).toEqual([]);
    });
    await noJobsLeft(db);
    expect(runs).toEqual([{ n: 1 }]);
  });

  it('waits for its time', async () => {
    const runAt = new Date('2036-01-02T03:04:05.678Z');
    await add({}, { runAt });
    expect(await jobRows(db)).toMatchObject([{ status: 'scheduled', run_at: runAt }]);
  });

  it('has 25 attempts unless its task says otherwise', async () => {
    await add({});
    await inTransaction(db, (trx) => queue.add(trx, { ...TASK, maxAttempts: 3 }, {}));
    expect((await jobRows(db)).map(({ max_attempts }) => max_attempts)).toEqual([25, 3]);
  });

  it('replaces the waiting one with the same key', async () => {
    const { task, runs } = recordingTask('test.record');
    await add({ n: 1 }, { key: 'same' });
    await add({ n: 2 }, { key: 'same' });
    await add({ n: 3 }, { key: 'other' });
    expect(await jobRows(db)).toHaveLength(2);
    await startRunner({ db, tasks: [task] });
    await noJobsLeft(db);
    expect(runs).toEqual(expect.arrayContaining([{ n: 2 }, { n: 3 }]));
    expect(runs).toHaveLength(2);
  });

  it('is queued beside a running one with its key', async () => {
    await add({ n: 1 }, { key: 'same' });
    await db.knex.raw(
      "update graphile_worker._private_jobs set locked_at = now(), locked_by = 'w', attempts = 1",
    );
    await add({ n: 2 }, { key: 'same' });
    expect(await jobRows(db)).toMatchObject([
      { status: 'running', key: null },
      { status: 'waiting', key: 'same' },
    ]);
  });

  it('is queued even when a worker starts the job with its key at the same time', async () => {
    await add({ n: 1 }, { key: 'same' });
    const worker = await db.knex.transaction();
    await worker.raw(
      "update graphile_worker._private_jobs set locked_at = now(), locked_by = 'w', attempts = 1",
    );
    const added = add({ n: 2 }, { key: 'same' });
    const blocked = db
      .knex('pg_stat_activity')
      .where({ wait_event_type: 'Lock' })
      .whereRaw('datname = current_database()');
    await until(async () => (await blocked.clone().select('pid')).length > 0);
    await worker.commit();
    await added;
    expect(await jobRows(db)).toMatchObject([
      { status: 'running', key: null },
      { status: 'waiting', key: 'same' },
    ]);
  });
});

describe('many jobs at once', () => {
  it('are queued in one statement, and each runs', async () => {
    const { task, runs } = recordingTask('test.record');
    const payloads = Array.from({ length: 250 }, (_, n) => ({ n, text: 'ü \0 \ud800 "' }));
    await inTransaction(db, (trx) => queue.addMany(trx, TASK, payloads));
    await startRunner({ db, tasks: [task] });
    await noJobsLeft(db);
    const numbers = runs.map((run) => (run as { n: number }).n).sort((a, b) => a - b);
    expect(numbers).toEqual(payloads.map(({ n }) => n));
  });

  it('may be an empty list', async () => {
    await inTransaction(db, (trx) => queue.addMany(trx, TASK, []));
    expect(await jobRows(db)).toEqual([]);
  });
});
