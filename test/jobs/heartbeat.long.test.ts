import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import type { PushFailure } from '../../src/db/processes/process-repository.js';
import { Heartbeat, type HeartbeatDeps } from '../../src/jobs/heartbeat.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { createLogger } from '../../src/logger.js';
import { type Child, killChildren, startTypeScript } from '../helpers/child-process.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
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

const CHILD = join(__dirname, 'worker-child.ts');
const INFO = 30;
const WARN = 40;
/** In place of 30 s. */
const SILENT_MS = 1_000;
const LOSSES = 10;

const queue = createJobQueue();

let test: TestDatabase;
let db: Database;
const hearts = new Set<Heartbeat>();

beforeAll(async () => {
  test = await createTestDatabase();
  db = test.db;
  await db.knex.raw('create table runs (job_id bigint, pid integer)');
});
afterEach(async () => {
  await stopRunners();
  await stopHearts();
  killChildren();
  await forgetJobs(db);
  await db.knex('runs').truncate();
});
afterAll(() => test.drop());

async function startHeartbeat(deps: Partial<HeartbeatDeps> = {}): Promise<Heartbeat> {
  const heart = new Heartbeat({
    db,
    role: 'worker',
    version: '1.2.3',
    logger: createLogger('silent'),
    intervalMs: 100,
    silentMs: SILENT_MS,
    ...deps,
  });
  hearts.add(heart);
  await heart.start();
  return heart;
}

async function stopHearts(): Promise<void> {
  await Promise.all([...hearts].map((heart) => heart.stop()));
  hearts.clear();
}

function processes() {
  return db.knex('server_processes').orderBy('started_at').select();
}

function add(name: string, options: { maxAttempts?: number } = {}): Promise<void> {
  return inTransaction(db, (trx) => queue.add(trx, { name, ...options }, {}));
}

/** All jobs that are not locked. */
async function lock(worker: string, ago: string): Promise<void> {
  await db.knex.raw(
    `update graphile_worker._private_jobs set attempts = 1, locked_by = ?,
     locked_at = now() - ?::interval where locked_by is null`,
    [worker, ago],
  );
}

/** A process of its own that runs `test.hang`, which never ends. */
async function startWorker(silentMs = SILENT_MS): Promise<Child> {
  const env = { NODE_OPTIONS: '--unhandled-rejections=strict' };
  const child = startTypeScript(CHILD, [test.connectionString, String(silentMs)], { env });
  await child.line('ready');
  return child;
}

describe('the row of a process', () => {
  it('describes it, is updated, and is removed with it', async () => {
    const heart = await startHeartbeat({ role: 'all' });
    const [row] = await processes();
    expect(row).toEqual({
      id: heart.processId,
      role: 'all',
      hostname: hostname(),
      pid: process.pid,
      version: '1.2.3',
      worker_pool: null,
      push_trouble: null,
      reads_sealed_payloads: true,
      reads_shared_payloads: true,
      push_trouble_since: null,
      started_at: row.started_at,
      seen_at: row.seen_at,
    });
    await until(async () => (await processes())[0].seen_at > row.seen_at);
    expect((await processes())[0].started_at).toEqual(row.started_at);
    await heart.stop();
    expect(await processes()).toEqual([]);
  });

  it('shows whether all processes of the last minute can send shared payloads', async () => {
    const beats: boolean[] = [];
    const heart = await startHeartbeat({
      onBeat: ({ allReadSharedPayloads }) => beats.push(allReadSharedPayloads),
      intervalMs: 60_000,
    });
    const former = { id: randomUUID(), role: 'web', hostname: 'a', pid: 1, version: '0.9' };
    await db.knex('server_processes').insert(former);
    const beat = async () => {
      const count = beats.length;
      heart.hurry();
      while (beats.length === count) await sleep(5);
      return beats.at(-1);
    };
    expect([beats, await beat()]).toEqual([[true, false], false]);
    const seen_at = db.knex.raw("now() - interval '61 seconds'");
    await db.knex('server_processes').where({ id: former.id }).update({ seen_at });
    expect(await beat()).toBe(true);
    await db.knex('server_processes').where({ id: former.id }).delete();
  });

  it('names its pool of workers at once', async () => {
    const heart = await startHeartbeat({ intervalMs: 60_000 });
    heart.claimPool('pool-1');
    await until(async () => (await processes())[0].worker_pool === 'pool-1');
    heart.claimPool(null);
    await until(async () => (await processes())[0].worker_pool === null);
  });

  it('shows why the process cannot push, until it can push again', async () => {
    const since = new Date('2026-01-02T03:04:05.678Z');
    let failure: PushFailure | null = null;
    const heart = await startHeartbeat({ intervalMs: 60_000, pushFailure: () => failure });
    expect(await processes()).toMatchObject([{ push_trouble: null, push_trouble_since: null }]);
    failure = { why: 'no answer', since };
    heart.hurry();
    await until(async () => (await processes())[0].push_trouble === 'no answer');
    expect((await processes())[0].push_trouble_since).toEqual(since);
    failure = null;
    heart.hurry();
    await until(async () => (await processes())[0].push_trouble === null);
    expect((await processes())[0].push_trouble_since).toBeNull();
  });

  it('is written again after it was removed', async () => {
    const heart = await startHeartbeat();
    heart.claimPool('pool-1');
    await db.knex('server_processes').delete();
    await until(async () => (await processes())[0]?.worker_pool === 'pool-1');
  });

  it('is deleted a day after its last heartbeat, and no earlier', async () => {
    const old = { role: 'all', hostname: 'old', pid: 1, version: '0' };
    const ago = (interval: string) => db.knex.raw('now() - ?::interval', [interval]);
    await db.knex('server_processes').insert([
      { ...old, id: 'a', seen_at: ago('24 hours 1 minute') },
      { ...old, id: 'b', seen_at: ago('23 hours 59 minutes') },
    ]);
    const heart = await startHeartbeat();
    expect((await processes()).map(({ id }) => id).sort()).toEqual(['b', heart.processId].sort());
  });

  it('is logged once when it cannot be written, and written as soon as possible', async () => {
    const { logger, lines } = capturingLogger();
    await db.knex.raw('alter table server_processes rename to away');
    const heart = await startHeartbeat({ role: 'web', logger, intervalMs: 10 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    await db.knex.raw('alter table away rename to server_processes');
    await until(async () => (await processes())[0]?.id === heart.processId);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [WARN, 'the heartbeat of this process could not be written'],
      [INFO, 'the heartbeat of this process is written again'],
    ]);
  });
});

describe('a process that is killed in the middle of a job', () => {
  it('loses the job to another process once it is silent, and not before', async () => {
    const { task, runs } = recordingTask('test.hang');
    const { logger, lines } = capturingLogger();
    const child = await startWorker();
    await add('test.hang');
    await child.line('hanging');
    // A live process keeps its job however long it takes.
    await db.knex.raw(
      `update graphile_worker._private_jobs set locked_at = now() - '1 h'::interval`,
    );
    const heartbeat = await startHeartbeat({ logger });
    expect(await jobRows(db)).toMatchObject([{ status: 'running' }]);
    await startRunner({ db, tasks: [task], heartbeat });
    expect(runs).toEqual([]);
    child.process.kill('SIGKILL');
    await child.ended;
    await noJobsLeft(db);
    expect(runs).toEqual([{}]);
    expect(lines.filter(({ level }) => level >= WARN)).toMatchObject([
      {
        level: WARN,
        msg: 'a process sends no heartbeat; its jobs run elsewhere',
        silentHost: hostname(),
        silentPid: child.pid,
        jobs: 1,
      },
    ]);
  });
});

describe('the jobs of a process that is silent', () => {
  /** A process whose last heartbeat was so long ago, and its job. */
  async function leaveJob(ago: string, options: { maxAttempts?: number } = {}): Promise<void> {
    const row = { id: 'x', role: 'all', hostname: 'gone', pid: 7, version: '0' };
    const seen_at = db.knex.raw('now() - ?::interval', [ago]);
    await db.knex('server_processes').insert({ ...row, seen_at, worker_pool: 'pool-x' });
    await add('test.any', options);
    await lock('pool-x', ago);
  }

  it('stay locked by it until it has been silent for the limit', async () => {
    await leaveJob('1 second');
    await startHeartbeat({ silentMs: 60_000 });
    expect(await jobRows(db)).toMatchObject([{ status: 'running', worker: 'pool-x' }]);
    await stopHearts();
    await startHeartbeat();
    expect(await jobRows(db)).toMatchObject([{ status: 'retrying', attempts: 1, worker: null }]);
  });

  it('are dead after their last attempt, with the silent process as their error', async () => {
    await leaveJob('1 second', { maxAttempts: 1 });
    await startHeartbeat();
    const last_error = 'The process that ran the last attempt ended in the middle of it';
    expect(await jobRows(db)).toMatchObject([
      { status: 'dead', attempts: 1, last_error, worker: null },
    ]);
  });

  it('are deleted when a newer job has their key, and dead after their last attempt', async () => {
    const task = { name: 'test.any', maxAttempts: 1 };
    const addKeyed = (key: string) => inTransaction(db, (trx) => queue.add(trx, task, {}, { key }));
    // As the library adds what is scheduled.
    const schedule = `select graphile_worker.add_job('test.any', job_key := 'schedule:test.any',
      payload := '{"_cron":{"ts":"2026-01-01T00:00:00.000Z","backfilled":false}}')`;
    await addKeyed('last');
    await addKeyed('again');
    await db.knex.raw(schedule);
    await leaveJob('1 second');
    await addKeyed('again');
    await db.knex.raw(schedule);
    await startHeartbeat();
    const rows = await jobRows(db);
    expect(rows.map(({ key, status }) => [key, status])).toEqual([
      ['last', 'dead'],
      [null, 'retrying'],
      ['again', 'waiting'],
      ['schedule:test.any', 'waiting'],
    ]);
  });

  it('are not searched for by a process that runs no jobs', async () => {
    await leaveJob('1 hour');
    await startHeartbeat({ role: 'web', silentMs: 10 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await jobRows(db)).toMatchObject([{ status: 'running' }]);
  });
});

describe('a process that was only frozen', () => {
  it('loses its jobs, and continues when it is resumed', async () => {
    const { task, runs } = recordingTask('test.hang');
    const child = await startWorker();
    await add('test.hang');
    await child.line('hanging');
    child.process.kill('SIGSTOP');
    const heartbeat = await startHeartbeat();
    await startRunner({ db, tasks: [task], heartbeat });
    await until(() => runs.length === 1);
    await stopRunners();
    await stopHearts();
    child.process.kill('SIGCONT');
    await add('test.count');
    await noJobsLeft(db);
    expect(await db.knex('runs').pluck('pid')).toEqual([child.pid]);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
    expect(child.lines.at(-1)).toBe('stopped');
  });
});

describe('a worker process', () => {
  it('survives repeated loss of all its connections, and runs every job', async () => {
    const child = await startWorker(30_000);
    const done = async () => Number((await db.knex('runs').countDistinct('job_id as n'))[0]?.n);
    const some = Array(60).fill({});
    for (let losses = 0; losses < LOSSES; losses += 1) {
      const before = await done();
      await inTransaction(db, (trx) => queue.addMany(trx, { name: 'test.count' }, some));
      await until(async () => child.process.exitCode !== null || (await done()) > before);
      // At any moment, also while the workers start.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));
      await terminate(db, 'worker-child');
    }
    await until(async () => {
      await makeDue(db);
      return (await jobRows(db)).length === 0;
    });
    expect(await done()).toBe(LOSSES * some.length);
    expect([child.process.exitCode, child.errors()]).toEqual([null, '']);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
    expect(child.errors()).toBe('');
  }, 60_000);
});

describe('jobs locked by workers that no process claims', () => {
  it('are unlocked after the time limit', async () => {
    const { logger, lines } = capturingLogger();
    await add('test.any');
    await lock('pool-lost', '2 seconds');
    await startHeartbeat({ logger });
    expect(await jobRows(db)).toMatchObject([{ status: 'retrying', attempts: 1, worker: null }]);
    expect(lines).toMatchObject([
      { level: WARN, jobs: 1, msg: 'jobs of workers unknown to every process run again' },
    ]);
  });

  it('stay locked before the time limit, and while a process claims them', async () => {
    const heart = await startHeartbeat();
    heart.claimPool('pool-live');
    await until(async () => (await processes())[0].worker_pool === 'pool-live');
    await add('test.any');
    await lock('pool-live', '1 hour');
    await add('test.any');
    await lock('pool-new', '-1 hour');
    // Each process looks for them as it starts.
    await startHeartbeat();
    await startHeartbeat();
    expect(await jobRows(db)).toMatchObject([
      { status: 'running', worker: 'pool-live' },
      { status: 'running', worker: 'pool-new' },
    ]);
  });
});

describe('several processes', () => {
  it('do not count as silent while the database itself was down', async () => {
    const { logger, lines } = capturingLogger();
    const row = { id: 'x', role: 'all', hostname: 'gone', pid: 7, version: '0' };
    const beforeItsStart = db.knex.raw("pg_postmaster_start_time() - interval '1 hour'");
    await db.knex('server_processes').insert({
      ...row,
      seen_at: beforeItsStart,
      worker_pool: 'pool-x',
    });
    const { rows } = await db.knex.raw(
      'select extract(epoch from now() - pg_postmaster_start_time()) * 1000 as up',
    );
    const up = Number(rows[0].up);
    const patient = await startHeartbeat({ logger, silentMs: up + 60_000 });
    await patient.stop();
    expect(lines).toEqual([]);
    await startHeartbeat({ logger, silentMs: up });
    expect(lines).toMatchObject([{ level: WARN, silentHost: 'gone', jobs: 0 }]);
  });

  it('log a silent process once, though they notice it at the same time', async () => {
    const { logger, lines } = capturingLogger();
    const row = { id: 'x', role: 'all', hostname: 'gone', pid: 7, version: '0' };
    const seen_at = db.knex.raw("now() - interval '1 minute'");
    const others = [1, 2, 3].map(() => {
      return connectDatabase({ connectionString: test.connectionString });
    });
    await db.knex('server_processes').insert({ ...row, seen_at, worker_pool: 'pool-x' });
    await Promise.all(others.map((each) => startHeartbeat({ db: each, logger })));
    await until(() => lines.length > 0);
    await stopHearts();
    await Promise.all(others.map((each) => each.close()));
    expect(lines).toMatchObject([{ level: WARN, silentHost: 'gone', silentPid: 7, jobs: 0 }]);
  });
});
