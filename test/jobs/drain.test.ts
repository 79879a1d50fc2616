import type { Database } from '../../src/db/connection/database.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import type { Task } from '../../src/jobs/task.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';
import { forgetJobs, jobRows, recordingTask, startRunner, stopRunners, until } from './helpers.js';

const WARN = 40;

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

/** No worker waits for a job, and one connection listens. */
function areWorkersIdle(): boolean {
  const { totalCount, idleCount, waitingCount } = db.background;
  return waitingCount === 0 && totalCount === idleCount + 1;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe('a runner that is stopped', () => {
  it('finishes running jobs, and starts no new ones', async () => {
    let isDone = false;
    const { task, runs } = recordingTask('test.short', async () => {
      await wait(200);
      isDone = true;
    });
    await add(task);
    const times = { graceMs: 5_000, pollMs: 60_000 };
    const runner = await startRunner({ db, tasks: [task], times });
    await until(() => runs.length === 1 && areWorkersIdle());
    const stopped = runner.stop();
    await add(task, { n: 2 });
    await stopped;
    expect(isDone).toBe(true);
    expect(await jobRows(db)).toMatchObject([{ status: 'waiting', attempts: 0, worker: null }]);
    expect(runs).toEqual([{}]);
  });

  it('aborts a job that takes too long, and unlocks it without counting the attempt', async () => {
    const reasons: string[] = [];
    const outcomes: string[] = [];
    const { task, runs } = recordingTask('test.long', (_payload, { signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push('aborted');
          reject(new Error('asked to stop'));
        });
      });
    });
    await add(task);
    const onFinish = (_task: string, outcome: string) => outcomes.push(outcome);
    const runner = await startRunner({ db, tasks: [task], onFinish, times: { abortMs: 5_000 } });
    await until(() => runs.length === 1);
    await runner.stop();
    expect(reasons).toEqual(['aborted']);
    expect(outcomes).toEqual([]);
    const [row] = await jobRows(db);
    expect(row).toMatchObject({ status: 'waiting', attempts: 0, worker: null, last_error: null });
  });

  it('also unlocks a job that ignores the signal, without waiting for it', async () => {
    const { task, runs } = recordingTask('test.deaf', () => new Promise(() => {}));
    await add(task);
    const runner = await startRunner({ db, tasks: [task] });
    await until(() => runs.length === 1);
    const started = performance.now();
    await runner.stop();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await jobRows(db)).toMatchObject([{ status: 'waiting', attempts: 0, worker: null }]);
  });

  it('finishes running jobs also when more are waiting, and logs no failure', async () => {
    const { logger, lines } = capturingLogger();
    const ended: unknown[] = [];
    const { task, runs } = recordingTask('test.busy', async (payload) => {
      await wait(200);
      ended.push(payload);
    });
    const payloads = Array.from({ length: 100 }, (_, n) => ({ n }));
    await inTransaction(db, (trx) => queue.addMany(trx, task, payloads));
    const runner = await startRunner({ db, tasks: [task], logger, times: { graceMs: 5_000 } });
    await until(() => runs.length > 0);
    await runner.stop();
    expect(ended).toEqual(runs);
    const rows = await jobRows(db);
    expect(rows).toHaveLength(payloads.length - ended.length);
    expect(new Set(rows.map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(
      new Set(['waiting 0']),
    );
    expect(lines.filter(({ level }) => level >= WARN)).toEqual([]);
  });

  it('leaves the jobs that it has not started to other processes', async () => {
    const { task, runs } = recordingTask('test.long', (_payload, { signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('asked to stop')));
      });
    });
    const payloads = Array.from({ length: 20 }, (_, n) => ({ n }));
    await inTransaction(db, (trx) => queue.addMany(trx, task, payloads));
    const runner = await startRunner({ db, tasks: [task], times: { abortMs: 5_000 } });
    await until(() => runs.length > 0);
    await runner.stop();
    const rows = await jobRows(db);
    expect(rows).toHaveLength(20);
    expect(new Set(rows.map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(
      new Set(['waiting 0']),
    );
  });

  it('makes an aborted job available to another process at once', async () => {
    const first = recordingTask('test.moved', (_payload, { signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('asked to stop')));
      });
    });
    const second = recordingTask('test.moved');
    await add(first.task);
    const runner = await startRunner({ db, tasks: [first.task] });
    await until(() => first.runs.length === 1);
    await startRunner({ db, tasks: [second.task], times: { pollMs: 60_000 } });
    await runner.stop();
    await until(() => second.runs.length === 1);
  });

  it('releases its pool, and can be stopped twice', async () => {
    const pools: (string | null)[] = [];
    const heartbeat = { claimPool: (pool: string | null) => pools.push(pool) };
    const runner = await startRunner({ db, tasks: [recordingTask('x').task], heartbeat });
    await runner.stop();
    await runner.stop();
    expect(pools.slice(0, 2)).toEqual([expect.stringMatching(/^pool-/), null]);
  });
});
