import type { Database } from '../../src/db/connection/database.js';
import { connectDatabase } from '../../src/db/connection/database.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import type { OnFinish } from '../../src/jobs/run-task.js';
import type { Task } from '../../src/jobs/task.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { freePort } from '../helpers/process.js';
import { capturingLogger } from '../http/log-lines.js';
import {
  forgetJobs,
  jobRows,
  makeDue,
  noJobsLeft,
  recordingTask,
  startRunner,
  stopRunners,
  terminate,
  until,
} from './helpers.js';

const WARN = 40;
const ERROR = 50;
const ENDED = 'the workers of the job queue have ended; new ones follow';

const queue = createJobQueue();

let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
});
afterEach(async () => {
  await stopRunners();
  await forgetJobs(db);
});
afterAll(() => test.drop());

function add(task: Task, payload: object = {}): Promise<void> {
  return inTransaction(db, (trx) => queue.add(trx, task, payload));
}

function failing(message: string, options: Partial<Task> = {}) {
  const recorded = recordingTask('test.fail', () => Promise.reject(new Error(message)));
  return { ...recorded, task: { ...recorded.task, ...options } };
}

describe('a job that fails', () => {
  it('waits longer before each attempt, and stores the error', async () => {
    const { task, runs } = failing('the reason');
    await add(task);
    await startRunner({ db, tasks: [task] });
    const seconds: number[] = [];
    for (const attempts of [1, 2, 3]) {
      await until(async () => (await jobRows(db))[0]?.status === 'retrying');
      const [row] = await jobRows(db);
      expect(row).toMatchObject({ attempts, last_error: 'the reason', max_attempts: 25 });
      seconds.push((Number(row?.run_at) - Date.now()) / 1_000);
      if (attempts < 3) await makeDue(db);
      if (attempts < 3) await until(() => runs.length > attempts);
    }
    const expected = [Math.E, Math.E ** 2, Math.E ** 3];
    for (const [index, value] of expected.entries()) {
      expect(Math.abs((seconds[index] ?? 0) - value)).toBeLessThan(1.5);
    }
  });

  it('is dead after its last attempt, and is not run again', async () => {
    const { task, runs } = failing('no', { maxAttempts: 2 });
    await add(task);
    await startRunner({ db, tasks: [task] });
    await until(async () => (await jobRows(db))[0]?.status === 'retrying');
    await makeDue(db);
    await until(async () => (await jobRows(db))[0]?.status === 'dead');
    await makeDue(db);
    const marker = recordingTask('test.other').task;
    await add(marker);
    await startRunner({ db, tasks: [marker, task] });
    await until(async () => (await jobRows(db)).length === 1);
    expect(runs).toHaveLength(2);
  });

  it('logs one warning each time, and one error with the remedy when it is dead', async () => {
    const { logger, lines } = capturingLogger();
    const outcomes: [string, string][] = [];
    const onFinish: OnFinish = (task, outcome, seconds) => {
      expect(seconds).toBeLessThan(5);
      outcomes.push([task, outcome]);
    };
    const { task } = failing('the reason', { maxAttempts: 2 });
    await add(task, { secret: 'of the payload' });
    await startRunner({ db, tasks: [task], logger, onFinish });
    await until(async () => (await jobRows(db))[0]?.status === 'retrying');
    await makeDue(db);
    await until(async () => (await jobRows(db))[0]?.status === 'dead');
    const logged = lines.filter(({ level }) => level >= WARN);
    expect(
      logged.map(({ level, msg, task, jobId, attempt }) => [level, msg, task, jobId, attempt]),
    ).toEqual([
      [WARN, 'a job failed and will be tried again', 'test.fail', 1, 1],
      [ERROR, 'a job is dead; retry with POST /api/v1/jobs/1/retry', 'test.fail', 1, 2],
    ]);
    expect(logged[0]).toMatchObject({ err: { message: 'the reason' } });
    expect(Date.parse(String(logged[0]?.nextRun))).toBeGreaterThan(Date.now() - 5_000);
    expect(JSON.stringify(lines)).not.toContain('of the payload');
    expect(outcomes).toEqual([
      ['test.fail', 'failed'],
      ['test.fail', 'dead'],
    ]);
  });

  it.each([
    ['a NUL', 'a\0b', 'a\ufffdb'],
    ['half a surrogate pair', 'a\ud800b', 'a\ufffdb'],
    ['nothing', '', 'Error'],
    ['far too much', 'x'.repeat(5_000), 'x'.repeat(2_000)],
  ])('does not stop other jobs when its message contains %s', async (_what, message, stored) => {
    const { task } = failing(message);
    const { task: other } = recordingTask('test.other');
    const { logger, lines } = capturingLogger();
    await add(task);
    await startRunner({ db, tasks: [task, other], logger });
    await until(async () => (await jobRows(db))[0]?.status === 'retrying');
    await add(other);
    await until(async () => (await jobRows(db)).length === 1);
    expect((await jobRows(db))[0]?.last_error).toBe(stored);
    expect(lines.map(({ msg }) => msg)).not.toContain(ENDED);
  });

  it('is deleted when a newer job with its key has replaced it', async () => {
    const { logger, lines } = capturingLogger();
    const again = () => inTransaction(db, (trx) => queue.add(trx, task, {}, { key: 'same' }));
    const { task, runs } = recordingTask('test.again', async () => {
      if (runs.length > 1) return;
      await again();
      throw new Error('once');
    });
    await again();
    await startRunner({ db, tasks: [task], logger });
    await noJobsLeft(db);
    expect(runs.length).toBe(2);
    expect(lines.filter(({ level }) => level >= WARN)).toMatchObject([
      { level: WARN, task: 'test.again', err: { message: 'once' } },
    ]);
  });

  it('may throw a value that is no Error', async () => {
    const { task } = recordingTask('test.fail', () => Promise.reject('just text'));
    await add(task);
    await startRunner({ db, tasks: [task] });
    await until(async () => (await jobRows(db))[0]?.last_error === 'just text');
  });
});

describe('a payload that its task cannot parse', () => {
  it('fails the job with that error, and the task does not run', async () => {
    const { task, runs } = recordingTask('test.parse');
    const parse = () => {
      throw new Error('deviceId must be a number');
    };
    await add(task, { deviceId: 'x' });
    await startRunner({ db, tasks: [{ ...task, parse }] });
    await until(async () => (await jobRows(db))[0]?.last_error === 'deviceId must be a number');
    expect(runs).toEqual([]);
  });
});

describe('a job', () => {
  it('runs with its id, its attempt and a signal', async () => {
    const seen: unknown[] = [];
    const { task } = recordingTask('test.context', (payload, { jobId, attempt, signal }) => {
      seen.push([payload, jobId, attempt, signal.aborted]);
      return Promise.resolve();
    });
    await startRunner({ db, tasks: [task] });
    await add(task, { n: 1 });
    await noJobsLeft(db);
    expect(seen).toEqual([[{ n: 1 }, 1, 1, false]]);
  });

  it('is left to other processes when its task is unknown here', async () => {
    const known = recordingTask('test.known');
    const unknown = recordingTask('test.unknown');
    await add(unknown.task);
    await add(known.task);
    await startRunner({ db, tasks: [known.task] });
    await until(async () => (await jobRows(db)).length === 1);
    expect(await jobRows(db)).toMatchObject([{ task: 'test.unknown', status: 'waiting' }]);
  });

  it('has the status running while it runs, and the announced pool as its worker', async () => {
    let release: () => void = () => {};
    const { task, runs } = recordingTask('test.hold', () => {
      return new Promise((resolve) => {
        release = resolve;
      });
    });
    const pools: (string | null)[] = [];
    await add(task);
    await startRunner({ db, tasks: [task], heartbeat: { claimPool: (id) => pools.push(id) } });
    await until(() => runs.length === 1);
    expect(await jobRows(db)).toMatchObject([{ status: 'running', worker: pools[0] }]);
    release();
    await noJobsLeft(db);
  });
});

describe('two runners on one database', () => {
  it('share a thousand jobs: none is lost, none runs twice', async () => {
    const first = recordingTask('test.share', workBriefly);
    const second = recordingTask('test.share', workBriefly);
    const payloads = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    const other = connectDatabase({ connectionString: test.connectionString });
    await startRunner({ db, tasks: [first.task] });
    await startRunner({ db: other, tasks: [second.task] });
    await inTransaction(db, (trx) => queue.addMany(trx, first.task, payloads));
    await noJobsLeft(db);
    await stopRunners();
    await other.close();
    const numbers = [...first.runs, ...second.runs].map((run) => (run as { n: number }).n);
    expect(numbers.sort((a, b) => a - b)).toEqual(payloads.map(({ n }) => n));
    expect(first.runs.length).toBeGreaterThan(0);
    expect(second.runs.length).toBeGreaterThan(0);
  });
});

describe('the loss of the database', () => {
  it('at the start does not reject: the workers start when it answers', async () => {
    const port = await freePort();
    const nowhere = new URL(test.connectionString);
    nowhere.port = String(port);
    nowhere.hostname = '127.0.0.1';
    nowhere.search = '';
    const lost = connectDatabase({ connectionString: nowhere.href });
    const { logger, lines } = capturingLogger();
    const runner = await startRunner({ db: lost, tasks: [recordingTask('x').task], logger });
    await until(() => lines.length > 0);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [WARN, 'the job queue cannot be reached yet'],
    ]);
    await runner.stop();
    await lost.close();
  });

  it('at the first statement of the workers is logged once, and they are replaced', async () => {
    const { task } = recordingTask('test.work');
    const { logger, lines } = capturingLogger();
    await db.knex.raw('alter table graphile_worker._private_tasks rename to away');
    await startRunner({ db, tasks: [task], logger });
    const attempts = () => lines.filter(({ msg }) => msg === ENDED);
    await until(() => attempts().length > 2);
    await db.knex.raw('alter table graphile_worker.away rename to _private_tasks');
    await add(task);
    await noJobsLeft(db);
    const logged = lines.filter(({ level }) => level >= WARN && level < ERROR);
    expect(logged.map(({ msg, err }) => [msg, (err as Error).message])).toEqual([
      [ENDED, 'relation "graphile_worker._private_tasks" does not exist'],
    ]);
  });

  it('during the work loses no job, and new jobs run at once', async () => {
    const { task, runs } = recordingTask('test.work', workBriefly);
    const own = connectDatabase({
      connectionString: test.connectionString,
      applicationName: 'own',
    });
    const payloads = Array.from({ length: 3_000 }, (_, n) => ({ n }));
    await inTransaction(db, (trx) => queue.addMany(trx, task, payloads));
    await startRunner({ db: own, tasks: [task] });
    for (const share of [100, 1_000, 2_000]) {
      await until(() => runs.length > share);
      await terminate(db, 'own');
    }
    await noJobsLeft(db);
    await add(task, { n: 3_000 });
    await noJobsLeft(db);
    await stopRunners();
    await own.close();
    const done = new Set(runs.map((run) => (run as { n: number }).n));
    expect(done.size).toBe(3_001);
  }, 60_000);
});

describe('a scheduled task', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('runs once in its minute for two runners, with an empty payload', async () => {
    const first = recordingTask('test.minutely');
    const second = recordingTask('test.minutely');
    const minute = 60_000 * Math.floor(Date.now() / 60_000 - 10);
    stopTheClock(minute - 100);
    await startRunner({ db, tasks: [{ ...first.task, schedule: '* * * * *', maxAttempts: 3 }] });
    await startRunner({ db, tasks: [{ ...second.task, schedule: '* * * * *', maxAttempts: 3 }] });
    await schedulersReach(minute);
    await noJobsLeft(db);
    expect([...first.runs, ...second.runs]).toEqual([{}]);
  });

  it('is not queued a second time while it waits for its next attempt', async () => {
    const { task, runs } = failing('no', { schedule: '* * * * *', maxAttempts: 3 });
    const minute = 60_000 * Math.floor(Date.now() / 60_000 - 10);
    for (const [index, at] of [minute, minute + 60_000].entries()) {
      stopTheClock(at - 100);
      await startRunner({ db, tasks: [task] });
      await schedulersReach(at);
      await until(() => runs.length === index + 1);
      await stopRunners();
    }
    await until(async () => (await jobRows(db))[0]?.status === 'retrying');
    expect(await jobRows(db)).toMatchObject([
      { task: 'test.fail', attempts: 1, max_attempts: 3, key: 'schedule:test.fail' },
    ]);
  });
});

const NOT_THE_DATE = [
  ...(['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask'] as const),
  ...(['clearTimeout', 'clearInterval', 'clearImmediate', 'hrtime', 'performance'] as const),
];

/** Sets the clock for the schedule; timers that wait are not affected. */
function stopTheClock(now: number): void {
  jest.useFakeTimers({ now, doNotFake: NOT_THE_DATE });
}

async function schedulersReach(at: number): Promise<void> {
  jest.setSystemTime(at + 1);
  await until(async () => Number(await lastExecution()) === at);
}

async function lastExecution(): Promise<Date | null> {
  const { rows } = await db.knex.raw(
    'select last_execution from graphile_worker._private_known_crontabs',
  );
  return rows[0]?.last_execution ?? null;
}

function workBriefly(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
