import type { Knex } from 'knex';
import { createExpireCommandsTask } from '../../../src/jobs/tasks/batch-tasks.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const [PAST, FUTURE] = [-1_000, 3_600_000].map((ms) => new Date(Date.now() + ms));
const { logger } = capturingLogger();
let test: TestDatabase;
let knex: Knex;
let deviceId: number;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
  const [device] = await knex('devices').insert({ udid: 'x' }, 'id');
  deviceId = device.id;
});
afterAll(() => test.drop());
beforeEach(() => knex('commands').delete());

const task = () => createExpireCommandsTask({ db: test.db, logger });

function command(columns: Record<string, unknown>) {
  return {
    uuid: crypto.randomUUID(),
    device_id: deviceId,
    request_type: 'SecurityInfo',
    payload: Buffer.from('x'),
    ...columns,
  };
}

function statuses() {
  return knex('commands').orderBy('id').select('status', 'reason');
}

describe('the expiry of commands', () => {
  it('does not change commands that are answered, never expire or have not expired yet', async () => {
    await knex('commands').insert([
      command({ status: 'Acknowledged', expires_at: PAST }),
      command({ status: 'Cancelled', expires_at: PAST, reason: 'by hand' }),
      command({ status: 'Queued' }),
      command({ status: 'Sent', expires_at: FUTURE }),
    ]);
    await runTask(task());
    expect(await statuses()).toEqual([
      { status: 'Acknowledged', reason: null },
      { status: 'Cancelled', reason: 'by hand' },
      { status: 'Queued', reason: null },
      { status: 'Sent', reason: null },
    ]);
  });

  it('expires commands that were not answered in time, once', async () => {
    const waiting = ['Queued', 'Sent', 'NotNow'];
    await knex('commands').insert(waiting.map((status) => command({ status, expires_at: PAST })));
    const expired = { status: 'Expired', reason: 'not answered before expires_at' };
    await runTask(task());
    expect(await statuses()).toEqual([expired, expired, expired]);
    await knex('commands').update({ reason: 'seen' });
    await runTask(task());
    expect(await statuses()).toEqual(Array(3).fill({ status: 'Expired', reason: 'seen' }));
  });

  it('skips a command that is being answered until the next run', async () => {
    const [row] = await knex('commands').insert(command({ expires_at: PAST }), 'id');
    await knex('commands').insert(command({ expires_at: PAST }));
    const answer = await knex.transaction();
    await answer('commands').where({ id: row.id }).forUpdate().first();
    await runTask(task());
    expect((await statuses()).map(({ status }) => status)).toEqual(['Queued', 'Expired']);
    await answer.rollback();
    await runTask(task());
    expect((await statuses()).map(({ status }) => status)).toEqual(['Expired', 'Expired']);
  });

  it('continues until none is left, and stops between batches when it is aborted', async () => {
    const many = Array.from({ length: 2_500 }, () => command({ expires_at: PAST }));
    await knex.batchInsert('commands', many, 1_000);
    const aborted = AbortSignal.abort(new Error('the process stops'));
    await expect(runTask(task(), aborted)).rejects.toThrow('the process stops');
    expect(await knex('commands').where({ status: 'Queued' }).count()).toEqual([{ count: 2_500 }]);
    await runTask(task());
    expect(await knex('commands').where({ status: 'Expired' }).count()).toEqual([{ count: 2_500 }]);
  });
});
