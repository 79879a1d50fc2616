import type { Knex } from 'knex';
import { CommandQueue } from '../../../src/commands/queue.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import {
  createRefreshInventoryTask,
  inventoryQuota,
} from '../../../src/jobs/tasks/refresh-inventory.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const DAY_MS = 86_400_000;
const INVENTORY = [
  'DeviceInformation',
  'InstalledApplicationList',
  'CertificateList',
  'SecurityInfo',
  'ProfileList',
  'AvailableOSUpdates',
];
const { logger } = capturingLogger();
const queue = new CommandQueue(new SecretBox(Buffer.alloc(32, 1)));
let test: TestDatabase;
let knex: Knex;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
});
afterAll(() => test.drop());
beforeEach(() => knex('devices').delete());

function refresh(signal?: AbortSignal): Promise<void> {
  const task = createRefreshInventoryTask({ db: test.db, queue, logger, interval: DAY_MS });
  return runTask(task, signal);
}

function hoursAgo(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000);
}

/** `queuedAt`: of the last inventory; otherwise the enrollment counts. */
async function insertDevices(
  devices: (Record<string, unknown> & { queuedAt?: Date })[],
): Promise<number[]> {
  const rows = devices.map(({ queuedAt: _, ...columns }) => ({
    udid: crypto.randomUUID(),
    platform: 'macOS',
    os_version: '15.5',
    is_supervised: true,
    is_enrolled: true,
    enrollment_state: 'enrolled',
    enrolled_at: hoursAgo(100),
    push_state: 'ok',
    sealed_push: Buffer.of(1),
    ...columns,
  }));
  const inserted = await knex('devices').insert(rows, 'id');
  const ids = inserted.map(({ id }) => id);
  for (const [index, { queuedAt }] of devices.entries()) {
    if (queuedAt !== undefined) await queuedBefore(ids[index], queuedAt);
  }
  return ids;
}

async function queuedBefore(id: number | undefined, queuedAt: Date): Promise<void> {
  await knex('device_inventories').where({ device_id: id }).update({ queued_at: queuedAt });
}

function typesFor(id: number | undefined): Promise<string[]> {
  return knex('commands').where({ device_id: id }).orderBy('id').pluck('request_type');
}

async function planOf(query: { sql: string; bindings: unknown[] } | undefined): Promise<string> {
  if (query === undefined) throw new Error('there was no such statement');
  const { sql, bindings } = query;
  const { rows } = await test.db.background.query(`explain ${sql}`, bindings);
  return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
}

function due(hours: number) {
  return { queuedAt: hoursAgo(hours) };
}

describe('the quota of one run', () => {
  it.each([
    [0, DAY_MS, 20],
    [10_000, DAY_MS, 20],
    [100_000, DAY_MS, 105],
    [1_000_000, DAY_MS, 1_042],
    [1_000_000, 3_600_000, 5_000],
    [1_000, 600_000, 150],
  ])('for %d devices every %d ms is %d', (enrolled, interval, quota) => {
    expect(inventoryQuota(enrolled, interval)).toBe(quota);
  });
});

describe('the refresh of inventories', () => {
  it('skips devices that are not enrolled or had an inventory within the interval', async () => {
    await insertDevices([
      due(23.9),
      { enrolled_at: hoursAgo(23.9) },
      { ...due(25), is_enrolled: false, enrollment_state: 'unenrolled' },
      { ...due(25), is_enrolled: false, enrollment_state: 'authenticated' },
    ]);
    await refresh();
    expect(await knex('commands')).toEqual([]);
    expect(await knex('device_pushes')).toEqual([]);
  });

  it('queues an inventory for due devices once per interval, and pushes them within a minute', async () => {
    const ids = await insertDevices([due(24.1), { enrolled_at: hoursAgo(24.1) }]);
    const before = Date.now();
    await refresh();
    for (const id of ids) expect(await typesFor(id)).toEqual(INVENTORY);
    const times = await knex('device_inventories').orderBy('device_id').pluck('queued_at');
    expect(times).toHaveLength(2);
    for (const time of times) expect(time.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    const pushes = await knex('device_pushes').orderBy('device_id');
    expect(pushes.map(({ device_id }) => device_id)).toEqual(ids);
    for (const { due_at } of pushes) {
      expect(due_at.getTime()).toBeLessThan(Date.now() + 51_000);
    }
    await knex('commands').update({ status: 'Acknowledged' });
    await refresh();
    for (const id of ids) expect(await typesFor(id)).toEqual(INVENTORY);
  });

  it('spreads the pushes of many devices over the minute', async () => {
    await insertDevices(Array.from({ length: 20 }, () => due(30)));
    await refresh();
    const times: Date[] = await knex('device_pushes').pluck('due_at');
    const seconds = times.map((time) => (time.getTime() - Date.now()) / 1_000);
    expect(seconds).toHaveLength(20);
    expect(Math.max(...seconds) - Math.min(...seconds)).toBeGreaterThan(10);
  });

  it('leaves out only commands of which an equal scheduled one still waits', async () => {
    const [asleep] = await insertDevices([due(30)]);
    await refresh();
    const answered = ['DeviceInformation', 'ProfileList'];
    await knex('commands')
      .whereIn('request_type', answered)
      .update({ status: 'Acknowledged', payload: Buffer.of(0) });
    await knex('commands').where({ request_type: 'SecurityInfo' }).update({ status: 'NotNow' });
    await knex('commands').where({ request_type: 'CertificateList' }).update({ status: 'Sent' });
    await refresh();
    expect(await typesFor(asleep)).toEqual(INVENTORY);
    await queuedBefore(asleep, hoursAgo(24.1));
    await refresh();
    expect(await typesFor(asleep)).toEqual([...INVENTORY, ...answered]);
    await queuedBefore(asleep, hoursAgo(24.1));
    await knex('device_pushes').delete();
    await refresh();
    expect(await typesFor(asleep)).toHaveLength(8);
    expect(await knex('device_pushes')).toEqual([]);
    const { queued_at } = await knex('device_inventories').where({ device_id: asleep }).first();
    expect(queued_at.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('queues a waiting command once more if its parameters differ by now', async () => {
    const [id] = await insertDevices([{ ...due(30), os_version: '12.0' }]);
    await refresh();
    await queuedBefore(id, hoursAgo(30));
    await knex('devices').where({ id }).update({ os_version: '15.5' });
    await refresh();
    expect(await typesFor(id)).toEqual([...INVENTORY, 'DeviceInformation']);
  });

  it('queues its own commands beside those of an admin, and an admin theirs beside its own', async () => {
    const [asleep, busy] = await insertDevices([due(30), due(30)]);
    const target = await knex('devices').where({ id: asleep }).first();
    await inTransaction(test.db, (trx) => queue.queueInventory(trx, target));
    await queuedBefore(asleep, hoursAgo(30));
    const command = (device_id: number | undefined, request_type: string, status: string) => ({
      uuid: crypto.randomUUID(),
      payload: Buffer.of(0),
      device_id,
      request_type,
      status,
    });
    await knex('commands').insert([
      command(busy, 'SecurityInfo', 'NotNow'),
      command(busy, 'RestartDevice', 'Queued'),
    ]);
    await refresh();
    expect(await typesFor(asleep)).toEqual([...INVENTORY, ...INVENTORY]);
    expect(await typesFor(busy)).toEqual(['SecurityInfo', 'RestartDevice', ...INVENTORY]);
    await inTransaction(test.db, (trx) => queue.queueInventory(trx, target));
    expect(await typesFor(asleep)).toHaveLength(18);
  });

  it('begins with the oldest inventories, up to the quota of a run', async () => {
    const ids = await insertDevices(Array.from({ length: 30 }, (_, index) => due(100 - index)));
    await refresh();
    const asked = () =>
      knex('commands').distinct('device_id').orderBy('device_id').pluck('device_id');
    expect(await asked()).toEqual(ids.slice(0, 20));
    await refresh();
    expect(await asked()).toEqual(ids);
  });

  it('queues no device twice when two processes run it at once', async () => {
    const ids = await insertDevices(Array.from({ length: 20 }, () => due(30)));
    await Promise.all([refresh(), refresh()]);
    for (const id of ids) expect(await typesFor(id)).toEqual(INVENTORY);
  });

  it.each([
    ['devices', 'id'],
    ['device_inventories', 'device_id'],
  ])('skips a device whose row of %s another transaction has locked', async (table, key) => {
    const [held, free] = await insertDevices([due(40), due(30)]);
    const report = await knex.transaction();
    await report(table)
      .where({ [key]: held })
      .forNoKeyUpdate()
      .first();
    await refresh();
    await report.rollback();
    expect([await typesFor(held), await typesFor(free)]).toEqual([[], INVENTORY]);
  });

  it('ends once the process stops', async () => {
    await insertDevices([due(30)]);
    await refresh(AbortSignal.abort());
    expect(await knex('commands')).toEqual([]);
  });

  it('finds due devices with the index, whatever the size of the fleet', async () => {
    await knex.transaction(async (trx) => {
      // Those of the tests before are for a table of a few rows, which foreign keys would read whole.
      await trx.raw('discard plans');
      await trx.raw(`insert into devices (udid, is_enrolled, enrolled_at)
        select 'd' || n, true, now() - n * interval '10 seconds' from generate_series(1, 20000) n`);
    });
    await knex.raw('analyze devices, device_inventories');
    const claims: { sql: string; bindings: unknown[] }[] = [];
    const listen = (query: { sql: string; bindings: unknown[] }) => {
      if (query.sql.includes('skip locked')) claims.push(query);
    };
    knex.on('query', listen);
    await refresh();
    knex.removeListener('query', listen);
    const asked = await knex('commands').countDistinct('device_id');
    expect(asked).toEqual([{ count: inventoryQuota(20_000, DAY_MS) }]);
    const plan = await planOf(claims[0]);
    expect(plan).toMatch(/Index Scan using device_inventories_due on device_inventories/);
    expect(plan).toMatch(/Index Scan using devices_pkey on devices/);
    expect(plan).not.toMatch(/Sort|Seq Scan/);
  });
});
