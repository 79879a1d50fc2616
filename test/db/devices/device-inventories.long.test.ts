import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { CommandQueue } from '../../../src/commands/queue.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { findTarget } from '../../../src/db/devices/device-repository.js';
import {
  claimInventoryDue,
  estimateEnrolled,
} from '../../../src/db/jobs/maintenance-repository.js';
import {
  DirectoryMigrationSource,
  MIGRATIONS_DIRECTORY,
} from '../../../src/db/schema/migration-source.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const HOUR_MS = 3_600_000;
const queue = new CommandQueue(new SecretBox(Buffer.alloc(32, 1)));
let test: TestDatabase;
let knex: Knex;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
});
afterAll(() => test.drop());
beforeEach(() => knex('devices').delete());

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour));

async function addDevice(columns: Record<string, unknown> = {}): Promise<number> {
  const usual = { udid: crypto.randomUUID(), is_enrolled: true, enrollment_state: 'enrolled' };
  const reach = { platform: 'macOS', push_state: 'ok', sealed_push: Buffer.of(1) };
  const row = { ...usual, ...reach, enrolled_at: at(1), ...columns };
  const [inserted] = await knex('devices').insert(row, 'id');
  return inserted.id;
}

async function timeOf(device_id: number): Promise<Date | undefined> {
  const row = await knex('device_inventories').where({ device_id }).first('queued_at');
  return row?.queued_at;
}

const change = (id: number, columns: Record<string, unknown>) =>
  knex('devices').where({ id }).update(columns);

describe('the row for the inventories of a device', () => {
  it('is there while the device is enrolled', async () => {
    const [enrolled, listed] = [await addDevice(), await addDevice({ is_enrolled: false })];
    expect([await timeOf(enrolled), await timeOf(listed)]).toEqual([at(1), undefined]);
    await change(enrolled, { is_enrolled: false });
    expect(await timeOf(enrolled)).toBeUndefined();
    await change(enrolled, { is_enrolled: true, enrolled_at: at(2) });
    expect(await timeOf(enrolled)).toEqual(at(2));
    await knex('devices').where({ id: enrolled }).delete();
    expect(await timeOf(enrolled)).toBeUndefined();
  });

  it('has the present time if the enrollment has none', async () => {
    const before = Date.now();
    const time = await timeOf(await addDevice({ enrolled_at: null }));
    expect(time?.getTime()).toBeGreaterThanOrEqual(before - 1_000);
  });

  it('stays as it is when an enrolled device reports again', async () => {
    const id = await addDevice();
    await change(id, { is_enrolled: true, enrolled_at: at(3), last_seen: at(3) });
    expect(await timeOf(id)).toEqual(at(1));
  });

  it('is counted for the pace of inventories', async () => {
    for (const is_enrolled of [true, true, false]) await addDevice({ is_enrolled });
    expect(await estimateEnrolled(knex)).toBe(2);
  });
});

// As an Authenticate that begins a new enrollment: the trigger comes last.
const END = `
with ended as (update devices set is_enrolled = false where id = ? returning id)
delete from device_pushes p using ended where p.device_id = ended.id`;

describe('an inventory and the end of its enrollment', () => {
  it('do not deadlock when a scheduled one was claimed before the end', async () => {
    const id = await addDevice();
    await knex('device_pushes').insert({ device_id: id, due_at: at(1) });
    let ended: Promise<unknown> | undefined;
    await inTransaction(test.db, async (trx) => {
      const due = await claimInventoryDue(trx, { age: HOUR_MS, limit: 10 });
      expect(due.map((device) => device.id)).toEqual([id]);
      ended = Promise.resolve(knex.raw(END, [id]));
      await waiting('update devices');
      expect(await queue.queueInventories(trx, due)).toBe(1);
    });
    await ended;
    expect(await timeOf(id)).toBeUndefined();
    expect(await knex('device_pushes')).toEqual([]);
  });

  it('do not deadlock when an admin requests one meanwhile', async () => {
    const id = await addDevice();
    await knex('device_pushes').insert({ device_id: id, due_at: at(1) });
    const target = await findTarget(knex, id);
    if (target === undefined) throw new Error('the device is there');
    const end = await knex.transaction();
    await end('devices').where({ id }).forNoKeyUpdate().first('id');
    await end('device_pushes').where({ device_id: id }).delete();
    let attempts = 0;
    const asked = inTransaction(test.db, (trx) => {
      attempts += 1;
      return queue.queueInventory(trx, target);
    });
    await waiting('device_pushes');
    await end.raw(END, [id]);
    await end.commit();
    expect((await asked).length).toBeGreaterThan(0);
    expect(attempts).toBe(1);
    expect(await timeOf(id)).toBeUndefined();
  });
});

/** Until a statement with this text waits for a lock. */
async function waiting(text: string): Promise<void> {
  for (;;) {
    const { rows } = await test.db.background.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and position($1 in query) > 0
         and datname = current_database()`,
      [text],
    );
    if (rows.length > 0) return;
    await sleep(5);
  }
}

describe('the migration that made the table', () => {
  const source = new DirectoryMigrationSource(MIGRATIONS_DIRECTORY);
  const migration = () => source.getMigration('20261128164500_device_inventories');

  it('takes the times of enrolled devices over, in steps, and gives them back', async () => {
    await knex.raw(`insert into devices (udid, is_enrolled, enrolled_at)
      select 'd' || n, n % 10 <> 0, '2026-01-01'::timestamptz + n * interval '1 minute'
      from generate_series(1, 6000) n`);
    await knex.raw(`update device_inventories set queued_at = queued_at + interval '1 day'`);
    const times = () => knex('device_inventories').orderBy('device_id');
    const before = await times();
    expect(before).toHaveLength(5_400);
    const { up, down } = await migration();
    await down?.(knex);
    const { rows } = await knex.raw(`select id as device_id, inventory_queued_at as queued_at
      from devices where inventory_queued_at is not null order by id`);
    expect(rows).toEqual(before);
    const [, second] = before;
    await change(second.device_id, { inventory_queued_at: null });
    await up(knex);
    const expected = { ...second, queued_at: new Date(second.queued_at.getTime() - 24 * HOUR_MS) };
    expect(await times()).toEqual([before[0], expected, ...before.slice(2)]);
  });

  it('does the rest when it was interrupted', async () => {
    const [kept, missing] = [await addDevice(), await addDevice()];
    const { up } = await migration();
    await knex('device_inventories').where({ device_id: missing }).delete();
    await knex('device_inventories')
      .where({ device_id: kept })
      .update({ queued_at: at(5) });
    await up(knex);
    expect([await timeOf(kept), await timeOf(missing)]).toEqual([at(5), expect.any(Date)]);
  });
});
