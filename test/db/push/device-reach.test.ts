import {
  countDevicesOfOtherTopics,
  countRefusedDevices,
} from '../../../src/db/push/device-reach.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
beforeEach(() => test.db.knex('devices').delete());
afterAll(() => test.drop());

interface Some {
  topic: string | null;
  push_state?: string;
  is_enrolled?: boolean;
}

function devices(count: number, { is_enrolled = true, ...facts }: Some) {
  const row = { is_enrolled, ...facts };
  return test.db.knex('devices').insert(Array.from({ length: count }, () => row));
}

describe('devices that no push reaches', () => {
  it('are zero in an empty database', async () => {
    expect(await countDevicesOfOtherTopics(test.db.knex, [])).toEqual([]);
    expect(await countRefusedDevices(test.db.knex)).toBe(0);
  });

  it('are counted per topic, the most first, without those that are not enrolled', async () => {
    await devices(2, { topic: 'topic.a' });
    await devices(3, { topic: 'topic.b' });
    await devices(4, { topic: 'topic.c' });
    await devices(1, { topic: 'topic.d' });
    await devices(5, { topic: 'topic.e', is_enrolled: false });
    await devices(6, { topic: null });
    expect(await countDevicesOfOtherTopics(test.db.knex, ['topic.b', 'topic.unused'])).toEqual([
      { topic: 'topic.c', count: 4 },
      { topic: 'topic.a', count: 2 },
      { topic: 'topic.d', count: 1 },
    ]);
  });

  it('are counted for every topic without a certificate', async () => {
    await devices(2, { topic: 'topic.a' });
    expect(await countDevicesOfOtherTopics(test.db.knex, [])).toEqual([
      { topic: 'topic.a', count: 2 },
    ]);
  });

  it('include enrolled devices whose token was refused', async () => {
    await devices(2, { topic: 'topic.a', push_state: 'ok' });
    await devices(1, { topic: 'topic.a', push_state: 'bad_token' });
    await devices(3, { topic: 'topic.a', push_state: 'unregistered' });
    await devices(4, { topic: 'topic.a', push_state: 'unregistered', is_enrolled: false });
    await devices(5, { topic: 'topic.a' });
    expect(await countRefusedDevices(test.db.knex)).toBe(4);
  });

  it('are counted up to a limit', async () => {
    const { knex } = test.db;
    await knex.transaction(async (trx) => {
      // Those of the tests before are for a table of a few rows, which foreign keys would read whole.
      await trx.raw('discard plans');
      await trx.raw(`
        insert into devices (is_enrolled, topic, push_state)
        select true, 'topic.' || i % 2, case when i % 10 = 0 then 'bad_token' else 'ok' end
        from generate_series(1, 22000) i`);
    });
    await knex.raw('analyze devices');
    expect(await countDevicesOfOtherTopics(knex, ['topic.0'])).toEqual([
      { topic: 'topic.1', count: 10_001 },
    ]);
    expect(await countRefusedDevices(knex)).toBe(2_200);
  });
});
