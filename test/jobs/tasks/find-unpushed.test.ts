import type { Knex } from 'knex';
import { createFindUnpushedTask } from '../../../src/jobs/tasks/batch-tasks.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

let test: TestDatabase;
let knex: Knex;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
});
afterAll(() => test.drop());
beforeEach(() => knex('devices').delete());

async function device(udid: string, columns: Record<string, unknown> = {}): Promise<number> {
  const reachable = { is_enrolled: true, sealed_push: Buffer.from('x'), push_state: 'ok' };
  const [row] = await knex('devices').insert({ udid, ...reachable, ...columns }, 'id');
  return row.id;
}

async function command(deviceId: number, status = 'Queued'): Promise<void> {
  const uuid = crypto.randomUUID();
  const payload = Buffer.from('x');
  await knex('commands').insert({
    uuid,
    device_id: deviceId,
    request_type: 'SecurityInfo',
    status,
    payload,
  });
}

describe('devices with queued commands and no requested push', () => {
  it('are found, once, and no others', async () => {
    const found = [await device('queued'), await device('sent'), await device('not-now')];
    for (const [index, status] of ['Queued', 'Sent', 'NotNow'].entries()) {
      await command(found[index] ?? 0, status);
    }
    const others = [
      await device('done'),
      await device('gone', { is_enrolled: false }),
      await device('mute', { sealed_push: null }),
      await device('refused', { push_state: 'unregistered' }),
      await device('asked'),
    ];
    for (const [index, id] of others.entries())
      await command(id, index ? 'Queued' : 'Acknowledged');
    const dueAt = new Date(Date.now() + 3_600_000);
    await knex('device_pushes').insert({ device_id: others[4], due_at: dueAt });

    const { logger, lines } = capturingLogger();
    const task = createFindUnpushedTask({ db: test.db, logger });
    await runTask(task);
    await runTask(task);

    const rows = await knex('device_pushes').orderBy('device_id');
    expect(rows.map(({ device_id }) => device_id)).toEqual([...found, others[4]]);
    expect(rows[3].due_at).toEqual(dueAt);
    const latest = Math.max(...rows.slice(0, 3).map(({ due_at }) => due_at.getTime()));
    expect(latest).toBeLessThan(Date.now() + 60_000);
    expect(lines.map(({ count }) => count)).toEqual([3]);
  });
});
