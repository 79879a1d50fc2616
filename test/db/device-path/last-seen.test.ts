import { LastSeen } from '../../../src/db/device-path/last-seen.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('retries times that could not be written with the next flush', async () => {
  const { knex } = test.db;
  const [{ id }] = await knex('devices').insert({ udid: 'SEEN-1' }).returning('id');
  const lastSeen = new LastSeen(test.db, () => undefined);
  lastSeen.mark(id);
  await knex.raw('alter table devices rename column last_seen to hidden');
  await expect(lastSeen.flush()).rejects.toThrow('last_seen');
  await knex.raw('alter table devices rename column hidden to last_seen');
  await lastSeen.flush();
  const row = await knex('devices').where({ id }).first('last_seen');
  expect(row.last_seen).toBeInstanceOf(Date);
});
