import { randomUUID } from 'node:crypto';
import { requestMissingPushes } from '../../../src/db/push/push-enqueue.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const REACHED = { is_enrolled: true, enrollment_state: 'enrolled', push_state: 'ok' };

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterEach(() => test.db.knex('devices').delete());
afterAll(() => test.drop());

async function deviceWithCommand(facts: Partial<typeof REACHED>, status = 'Queued') {
  const { knex } = test.db;
  const device = { ...REACHED, sealed_push: 'sealed', ...facts };
  const [row] = await knex('devices').insert(device).returning<{ id: number }[]>('id');
  const command = { uuid: randomUUID(), device_id: row?.id, request_type: 'ProfileList', status };
  await knex('commands').insert({ ...command, payload: Buffer.from('') });
  return row?.id;
}

it('a push is requested where a command waits, the device is reached and none is requested', async () => {
  const { knex } = test.db;
  const reached = await deviceWithCommand({});
  await deviceWithCommand({}, 'Acknowledged');
  await deviceWithCommand({ is_enrolled: false, enrollment_state: 'unenrolled' });
  await deviceWithCommand({ is_enrolled: false, enrollment_state: 'authenticated' });
  await deviceWithCommand({ push_state: 'bad_token' });
  const requested = await deviceWithCommand({});
  await knex('device_pushes').insert({ device_id: requested, due_at: new Date() });

  expect(await requestMissingPushes(knex, 'device', 10)).toBe(1);

  expect(await knex('device_pushes').orderBy('device_id').pluck('device_id')).toEqual([
    reached,
    requested,
  ]);
  expect(await requestMissingPushes(knex, 'device', 10)).toBe(0);
});
