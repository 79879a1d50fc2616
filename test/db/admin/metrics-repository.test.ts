import { randomUUID } from 'node:crypto';
import {
  blockedTopics,
  duePushes,
  jobCounts,
  pendingCommands,
  processCounts,
} from '../../../src/db/admin/metrics-repository.js';
import { poolUse } from '../../../src/db/connection/health.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;
let deviceId = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  const [row] = await test.db.knex('devices').insert({ udid: 'D-1' }).returning('id');
  deviceId = row.id;
});
afterAll(() => test.drop());

describe('figures of the database', () => {
  it('are zero in an empty database', async () => {
    expect(await pendingCommands(test.db)).toEqual([
      { status: 'Queued', count: 0, oldestSeconds: 0 },
      { status: 'Sent', count: 0, oldestSeconds: 0 },
      { status: 'NotNow', count: 0, oldestSeconds: 0 },
    ]);
    expect(await duePushes(test.db)).toEqual({ count: 0, lateSeconds: 0 });
    expect(await blockedTopics(test.db)).toEqual([]);
    expect(await jobCounts(test.db)).toEqual([]);
    expect(await processCounts(test.db)).toEqual([]);
  });

  it('count pending commands by status, with the age of the oldest, and no others', async () => {
    const insert = (status: string, minutes: number) =>
      test.db.knex('commands').insert({
        uuid: randomUUID(),
        device_id: deviceId,
        request_type: 'DeviceLock',
        status,
        payload: Buffer.from('x'),
        queued_at: test.db.knex.raw(`now() - interval '${minutes} minutes'`),
      });
    await insert('Queued', 1);
    await insert('Queued', 10);
    await insert('NotNow', 60);
    for (const status of ['Acknowledged', 'Error', 'Expired', 'Cancelled']) {
      await insert(status, 1000);
    }
    const [queued, sent, notNow] = await pendingCommands(test.db);
    expect([queued?.count, sent?.count, notNow?.count]).toEqual([2, 0, 1]);
    expect([queued, notNow].map((row) => Math.floor((row?.oldestSeconds ?? 0) / 60))).toEqual([
      10, 60,
    ]);
  });

  it('count due pushes', async () => {
    const [later] = await test.db.knex('devices').insert({ udid: 'D-2' }).returning('id');
    const { knex } = test.db;
    await knex('device_pushes').insert([
      { device_id: deviceId, due_at: knex.raw("now() - interval '90 seconds'") },
      { device_id: later.id, due_at: knex.raw("now() + interval '1 minute'") },
    ]);
    const { count, lateSeconds } = await duePushes(test.db);
    expect([count, Math.floor(lateSeconds / 30)]).toEqual([1, 3]);
  });

  it('count only live processes', async () => {
    const { knex } = test.db;
    const row = { hostname: 'h', pid: 1, version: '1' };
    await knex('server_processes').insert([
      { ...row, id: 'a', role: 'web' },
      { ...row, id: 'b', role: 'web' },
      { ...row, id: 'c', role: 'worker', seen_at: knex.raw("now() - interval '31 seconds'") },
    ]);
    expect(await processCounts(test.db)).toEqual([{ role: 'web', count: 2 }]);
  });

  it('name blocked topics with the reason', async () => {
    const times = { blocked_at: new Date(1_000), retry_at: new Date(2_000) };
    const row = { topic: 'com.apple.mgmt.x', blocked_reason: 'BadCertificate', ...times };
    await test.db.knex('push_topics').insert(row);
    expect(await blockedTopics(test.db)).toEqual([
      {
        topic: 'com.apple.mgmt.x',
        reason: 'BadCertificate',
        blockedAt: new Date(1_000),
        retryAt: new Date(2_000),
      },
    ]);
  });
});

describe('the use of connections', () => {
  it('is counted for each pool', async () => {
    const { db } = test;
    const client = await db.background.connect();
    const [first, second] = [await db.pool.connect(), await db.pool.connect()];
    second.release();
    const third = await db.lists.pool.connect();
    try {
      const [admin, device, background, list] = await db.knex.transaction(async () => poolUse(db));
      expect([admin?.pool, admin?.used, admin?.waiting]).toEqual(['admin', 1, 0]);
      expect(device).toEqual({ pool: 'device', used: 1, idle: 1, waiting: 0 });
      expect(background).toEqual({ pool: 'background', used: 1, idle: 0, waiting: 0 });
      expect(list).toEqual({ pool: 'list', used: 1, idle: 0, waiting: 0 });
    } finally {
      client.release();
      first.release();
      third.release();
    }
  });
});
