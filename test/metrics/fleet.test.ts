import { createMetrics } from '../../src/metrics/metrics.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';
import { until } from '../jobs/helpers.js';
import { valuesOf } from './exposition.js';

let test: TestDatabase;
const { logger, lines } = capturingLogger();

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

/** What a process that has just started shows. */
async function scrape(): Promise<string> {
  return await createMetrics({
    db: test.db,
    logger,
    version: '1.2.3',
    role: 'all',
    config: { backupEvery: undefined },
  }).text();
}

async function fill(): Promise<void> {
  const { knex } = test.db;
  const enrolled = { is_enrolled: true, enrollment_state: 'enrolled' };
  const rows = [
    { ...enrolled, platform: 'iOS', os_version: '26.1', push_state: 'ok' },
    { ...enrolled, platform: 'iOS', os_version: '26', push_state: 'ok' },
    { ...enrolled, platform: 'macOS', os_version: '15.7.1', push_state: 'bad_token' },
    { ...enrolled, platform: 'macOS', os_version: 'x"; drop', push_state: null },
    { enrollment_state: 'unenrolled', platform: 'iOS', os_version: '18.2', push_state: 'ok' },
    { is_dep: true },
  ];
  const ids = await knex('devices').insert(rows).returning('id');
  const health = ids.slice(0, 3).map(({ id }, index) => {
    return { device_id: id, health: index === 2 ? 'stuck' : 'ok' };
  });
  await knex('device_health').insert(health).onConflict('device_id').merge();
  const [profile] = await knex('profiles')
    .insert({
      ...{ identifier: 'com.example.wifi', uuid: 'U', version: 1 },
      ...{ is_signed: false, holds_secrets: false },
    })
    .returning('id');
  await knex('device_items').insert(
    ['verified', 'verified', 'failed'].map((state, index) => {
      return {
        ...{ device_id: ids[index].id, profile_id: profile.id, identifier: 'a', item_key: 'k' },
        ...{ enrollment_number: 1, state },
      };
    }),
  );
}

describe('the gauges of the fleet', () => {
  it('count devices by state, platform, version, push state and health, and items by state', async () => {
    await fill();
    const text = await scrape();
    expect(valuesOf(text, 'muster_devices')).toEqual({
      'enrolled iOS': 2,
      'enrolled macOS': 2,
      'unenrolled iOS': 1,
      'none unknown': 1,
    });
    expect(valuesOf(text, 'muster_enrolled_devices')).toEqual({
      '26 iOS': 2,
      '15 macOS': 1,
      'unknown macOS': 1,
    });
    expect(valuesOf(text, 'muster_device_push_states')).toEqual({
      ok: 2,
      unregistered: 0,
      bad_token: 1,
      topic_mismatch: 0,
      none: 1,
    });
    expect(valuesOf(text, 'muster_device_health')).toEqual({ ok: 2, attention: 0, stuck: 1 });
    expect(valuesOf(text, 'muster_items')).toMatchObject({ verified: 2, failed: 1, pending: 0 });
    const at = valuesOf(text, 'muster_fleet_counted_timestamp_seconds')[''] ?? 0;
    expect(Math.abs(Date.now() / 1000 - at)).toBeLessThan(30);
  });

  it('are counted once a minute for all processes', async () => {
    const { knex } = test.db;
    await knex('devices').insert({ enrollment_state: 'dep', platform: 'tvOS' });
    expect(valuesOf(await scrape(), 'muster_devices')).not.toHaveProperty('dep tvOS');
    await knex('fleet_figures').update({
      claimed_at: knex.raw("now() - interval '61 seconds'"),
      duration: 10,
    });
    await until(async () => valuesOf(await scrape(), 'muster_devices')['dep tvOS'] === 1);
  });

  it('are counted less often where counting takes long', async () => {
    const { knex } = test.db;
    await knex('devices').insert({ enrollment_state: 'dep', platform: 'watchOS' });
    const claimed = (seconds: number) =>
      knex('fleet_figures').update({
        claimed_at: knex.raw("now() - ? * interval '1 second'", [seconds]),
        duration: 6_000,
      });
    await claimed(119);
    expect(valuesOf(await scrape(), 'muster_devices')).not.toHaveProperty('dep watchOS');
    await claimed(121);
    await until(async () => valuesOf(await scrape(), 'muster_devices')['dep watchOS'] === 1);
  });

  it('are the former ones while they are counted, and stay when that fails', async () => {
    const { knex } = test.db;
    await knex('devices').insert({ enrollment_state: 'dep', platform: 'visionOS' });
    await knex('fleet_figures').update({ claimed_at: null, duration: 10 });
    const lock = await knex.transaction();
    await lock.raw('lock table device_items in access exclusive mode');
    const former = valuesOf(await scrape(), 'muster_devices');
    expect(former).toHaveProperty('dep tvOS', 1);
    expect(former).not.toHaveProperty('dep visionOS');
    // The count begins beside the answer. A transaction would see the same activity each time.
    await until(async () => {
      const { rows } = await knex.raw(
        "select pg_cancel_backend(pid) as done from pg_stat_activity where query like '%from device_items group by state' and wait_event_type = 'Lock'",
      );
      return rows.length === 1 && rows[0].done;
    });
    await until(async () => lines.length > 0);
    await lock.rollback();
    expect(lines).toEqual([
      expect.objectContaining({ msg: 'the fleet was not counted; /metrics has former figures' }),
    ]);
    expect(valuesOf(await scrape(), 'muster_devices')).toEqual(former);
  });
});
