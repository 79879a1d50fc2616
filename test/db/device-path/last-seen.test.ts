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
  lastSeen.mark(id, undefined);
  await knex.raw('alter table devices rename column last_seen to hidden');
  await expect(lastSeen.flush()).rejects.toThrow('last_seen');
  await knex.raw('alter table devices rename column hidden to last_seen');
  await lastSeen.flush();
  const row = await knex('devices').where({ id }).first('last_seen');
  expect(row.last_seen).toBeInstanceOf(Date);
});

describe('the clock of a device', () => {
  const clocks = (id: number) =>
    test.db
      .knex('device_clocks')
      .where({ device_id: id })
      .select<{ offset_seconds: number; noticed_at: Date }[]>('offset_seconds', 'noticed_at');
  const secondsFromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);

  async function seenAt(id: number, signedAt: Date | undefined) {
    const lastSeen = new LastSeen(test.db, () => undefined);
    lastSeen.mark(id, signedAt);
    await lastSeen.flush();
    return (await clocks(id)).map(({ offset_seconds: offset }) => offset);
  }

  it('is stored when it is more than ten minutes wrong, and no more when it is right', async () => {
    const [{ id }] = await test.db.knex('devices').insert({ udid: 'CLOCK-1' }).returning('id');
    expect(await seenAt(id, secondsFromNow(598))).toEqual([]);
    expect(await seenAt(id, secondsFromNow(-7200))).toEqual([-7200]);
    const [{ noticed_at: noticed } = {}] = await clocks(id);
    expect(await seenAt(id, secondsFromNow(-7230))).toEqual([-7200]);
    expect(await seenAt(id, undefined)).toEqual([-7200]);
    expect(await seenAt(id, secondsFromNow(90_000))).toEqual([90_000]);
    expect((await clocks(id))[0]?.noticed_at).toEqual(noticed);
    expect(await seenAt(id, secondsFromNow(0))).toEqual([]);
  });

  it('of a device that is deleted meanwhile is not stored, and the others are', async () => {
    const [{ id }] = await test.db.knex('devices').insert({ udid: 'CLOCK-2' }).returning('id');
    const lastSeen = new LastSeen(test.db, () => undefined);
    lastSeen.mark(999_999, secondsFromNow(7200));
    lastSeen.mark(id, secondsFromNow(7200));
    await lastSeen.flush();
    expect((await clocks(id)).map(({ offset_seconds: offset }) => offset)).toEqual([7200]);
  });
});
