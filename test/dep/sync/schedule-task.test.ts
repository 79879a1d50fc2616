import type { DepAccounts } from '../../../src/dep/client/dep-api.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { createSyncTasks } from '../../../src/dep/sync/sync-tasks.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import type { Task } from '../../../src/jobs/task.js';
import { runTask } from '../../jobs/tasks/run-task.js';
import { type SyncFixture, startSyncFixture } from './sync-fixture.js';

const HOUR_MS = 3_600_000;

let fixture: SyncFixture;
beforeAll(async () => {
  fixture = await startSyncFixture();
});
beforeEach(() => fixture.reset());
afterAll(() => fixture.database.drop());

function tasks(syncInterval: number | undefined, isLabOn = false): Task[] {
  const jobs = new DepJobs(createJobQueue());
  const { db } = fixture.database;
  const accounts = {} as DepAccounts;
  return createSyncTasks({ db, jobs, accounts, logger: fixture.log.logger, syncInterval, isLabOn });
}

async function tick(isLabOn?: boolean): Promise<(string | null)[]> {
  await fixture.knex.raw('delete from graphile_worker._private_jobs');
  const schedule = tasks(HOUR_MS, isLabOn).find(({ name }) => name === 'dep.schedule');
  await runTask(schedule as Task<undefined>);
  return (await fixture.jobs()).map(({ key }) => key);
}

const inDays = (days: number) => inMinutes(days * 24 * 60);
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);

describe('scheduled syncs', () => {
  it('are not queued without an interval', () => {
    const schedules = (list: Task[]) => list.map(({ name, schedule }) => [name, schedule]);
    expect(schedules(tasks(undefined))).toEqual([['dep.sync', undefined]]);
    const all = [
      ['dep.sync', undefined],
      ['dep.schedule', '* * * * *'],
    ];
    expect(schedules(tasks(HOUR_MS))).toEqual(all);
  });

  it.each<[string, object]>([
    ['has no token', { consumer_key: null }],
    ['was synced within the interval', { next_sync_at: inMinutes(1) }],
    ['is being synced', { sync_owner: 'other', sync_lease_until: inMinutes(1) }],
    ["has a token of the lab's, which is off", { consumer_key: 'CK_lab_1' }],
  ])('skip an account that %s', async (_, columns) => {
    await fixture.knex('dep_accounts').update(columns);
    expect(await tick()).toEqual([]);
    expect(await fixture.account()).toMatchObject({ sync_state: 'idle' });
  });

  it('skip accounts of Apple while the lab is on', async () => {
    await fixture.addAccount({ consumer_key: 'CK_lab_1' });
    expect(await tick(true)).toEqual(['dep.sync/2']);
  });

  it.each<[string, object, object]>([
    ['a week after the last', { fetched_fully_at: inDays(-7.1) }, { cursor: null }],
    ['where it is not known when', {}, { cursor: null }],
    ['not before', { fetched_fully_at: inDays(-6.9) }, { cursor: 'c1', sync_phase: 'delta' }],
    ['not while one goes on', { sync_phase: 'fetch' }, { cursor: 'c1' }],
  ])('read all devices again %s', async (_, columns, expected) => {
    const known = { cursor: 'c1', sync_phase: 'delta', ...columns };
    await fixture.knex('dep_accounts').update(known);
    expect(await tick()).toEqual(['dep.sync/1']);
    expect(await fixture.account()).toMatchObject({ sync_phase: 'fetch', ...expected });
  });

  it('are queued about once an interval, and not all at the same time', async () => {
    await fixture.addAccount({ consumer_key: 'CK_2', next_sync_at: inMinutes(-1) });
    await fixture.addAccount({ consumer_key: 'CK_3', sync_lease_until: inMinutes(-1) });
    expect(new Set(await tick())).toEqual(new Set(['dep.sync/1', 'dep.sync/2', 'dep.sync/3']));
    const due = (await fixture.jobs()).map(({ run_at }) => Number(run_at));
    expect(Math.max(...due) - Math.min(...due)).toBeGreaterThan(3_000);
    expect(Math.max(...due)).toBeLessThan(Date.now() + 50_000);
    const next = await fixture.knex('dep_accounts').orderBy('id').pluck<Date[]>('next_sync_at');
    for (const at of next)
      expect(Math.abs(Number(at) - Date.now() - HOUR_MS)).toBeLessThan(200_000);
    expect(new Set(next.map(Number)).size).toBe(3);
    expect(await fixture.account()).toMatchObject({ sync_state: 'waiting' });
    expect(await tick()).toEqual([]);
  });
});
