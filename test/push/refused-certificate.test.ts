import { blockTopic } from '../../src/db/push/push-topics.js';
import type { LogLine } from '../http/log-lines.js';
import {
  eventually,
  type PushWorld,
  startPushWorld,
  type TestTarget,
  TOPIC,
} from './push-world.js';

let world: PushWorld;

const OTHER = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-000000000002';
const MINUTE = 60;

beforeAll(async () => {
  world = await startPushWorld();
  for (const topic of [TOPIC, OTHER]) await world.addCertificate(topic);
});
afterEach(() => world.reset());
afterAll(() => world.stop());

const ERROR = 50;

function alerts(): LogLine[] {
  return world.logLines.filter(({ level }) => level === ERROR);
}

interface TopicRow {
  topic: string;
  blocked_reason: string;
  retry_in: number;
}

async function blocked(): Promise<TopicRow[]> {
  const { rows } = await world.db.knex.raw<{ rows: TopicRow[] }>(
    `select topic, blocked_reason, extract(epoch from retry_at - now())::float8 as retry_in
     from push_topics`,
  );
  return rows;
}

async function waits(target: TestTarget, least: number): Promise<void> {
  await eventually(async () => {
    const row = await world.pushRow(target);
    expect(row).toMatchObject({ claimed_at: null, attempts: 0 });
    expect(row?.due_in).toBeGreaterThan(least);
  });
}

function delivered(targets: TestTarget[]): Promise<void> {
  return eventually(async () => {
    for (const target of targets) {
      expect(await world.deviceRow(target)).toMatchObject({ last_push_result: 'delivered' });
    }
  });
}

const refuse = (times?: number) =>
  world.standIn.addAnswer({
    topic: TOPIC,
    status: 403,
    reason: 'BadCertificate',
    times,
  });

/** As if the next attempt were due. */
async function comeRetry(blockedFor = '10 minutes'): Promise<void> {
  const now = world.db.knex.fn.now();
  await world.db.knex('push_topics').update({
    retry_at: now,
    blocked_at: world.db.knex.raw('now() - ?::interval', [blockedFor]),
  });
  await world.db.knex('device_pushes').update({ due_at: now });
}

describe('a push certificate that Apple refuses', () => {
  it('keeps the devices of its topic waiting, and raises one alert', async () => {
    const targets = await world.devices(20);
    refuse();
    world.start();
    world.start();
    for (const target of targets) await world.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    expect(await blocked()).toMatchObject([{ topic: TOPIC, blocked_reason: 'BadCertificate' }]);
    expect((await blocked())[0]?.retry_in).toBeLessThanOrEqual(10 * MINUTE);
    expect(alerts()).toMatchObject([{ topic: TOPIC, reason: 'BadCertificate' }]);
    const [first] = targets;
    expect(first && (await world.deviceRow(first))).toMatchObject({ push_state: 'ok' });
  });

  it('waits as long for a process that finds it being blocked by another', async () => {
    const other = await world.db.knex.transaction();
    await other('push_topics').insert({
      topic: TOPIC,
      blocked_reason: 'BadCertificate',
      retry_at: other.raw("now() + interval '10 minutes'"),
    });
    const refusal = { topic: TOPIC, reason: 'BadCertificate', isProbe: false };
    const blocking = blockTopic(world.db, refusal);
    await eventually(async () => {
      const { rows } = await world.db.pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'",
      );
      expect(rows).toHaveLength(1);
    });
    await other.commit();
    expect(await blocking).toEqual({ isNew: false, retryIn: expect.any(Number) });
    expect((await blocking).retryIn).toBeGreaterThan(9 * MINUTE * 1000);
  });

  it('does not affect other topics', async () => {
    const [refused, fine] = [await world.device(), await world.device(OTHER)];
    refuse();
    world.start();
    for (const target of [refused, fine]) await world.queueCommand(target);
    await waits(refused, 8 * MINUTE);
    await delivered([fine]);
  });

  it('is not tried again for each command', async () => {
    const target = await world.device();
    refuse();
    const { service } = world.start();
    await world.queueCommand(target);
    await waits(target, 8 * MINUTE);
    world.standIn.resetCounters();
    await world.queueCommand(target);
    service.wake();
    await waits(target, 8 * MINUTE);
    expect(world.standIn.report().total).toBe(0);
  });

  it('is tested with one push of one process when the retry is due, then half as often', async () => {
    const targets = await world.devices(10);
    refuse();
    const processes = [world.start(), world.start()];
    for (const target of targets) await world.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    for (const [lasted, retry_in] of [
      ['10 minutes', 10 * MINUTE],
      ['20 minutes', 20 * MINUTE],
      ['3 days', 360 * MINUTE],
    ] as const) {
      world.standIn.resetCounters();
      await comeRetry(lasted);
      for (const { service } of processes) service.wake();
      await eventually(async () => {
        expect((await blocked())[0]?.retry_in).toBeGreaterThan(retry_in - 10);
      });
      for (const target of targets) await waits(target, 0);
      expect((await blocked())[0]?.retry_in).toBeLessThanOrEqual(retry_in + 1);
      expect(world.standIn.report().total).toBe(1);
    }
    expect(alerts()).toHaveLength(1);
  });

  it('unblocks its topic when the test push is accepted', async () => {
    const targets = await world.devices(10);
    refuse(1);
    const { service } = world.start();
    const [first] = targets;
    if (first) await world.queueCommand(first);
    await eventually(async () => expect(await blocked()).toHaveLength(1));
    for (const target of targets) await world.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    await comeRetry();
    service.wake();
    await eventually(async () => expect(await blocked()).toEqual([]));
    await world.runRearmJobs();
    await delivered(targets);
    expect(alerts()).toHaveLength(1);
  });

  it('unblocks its topic when it is renewed', async () => {
    const targets = await world.devices(5);
    refuse(5);
    const { changes } = world.start();
    for (const target of targets) await world.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    await world.addCertificate();
    await changes.notify('push_certificates');
    world.standIn.clearAnswers();
    await world.runRearmJobs();
    expect(await blocked()).toEqual([]);
    await delivered(targets);
  });

  it('does not block its topic when another one has already replaced it', async () => {
    const target = await world.device();
    const { clients } = world.start();
    await clients.forTopic(TOPIC);
    await world.addCertificate();
    refuse(1);
    await world.queueCommand(target);
    await delivered([target]);
    expect(await blocked()).toEqual([]);
    expect(alerts()).toEqual([]);
  });

  it('is recognized in the TLS handshake too', async () => {
    const target = await world.device();
    world.standIn.refuseConnections('tls');
    world.start();
    await world.queueCommand(target);
    await waits(target, 8 * MINUTE);
    expect(await world.deviceRow(target)).toMatchObject({
      last_push_result: 'certificate_refused',
      push_state: 'ok',
      failed_push_count: 0,
    });
    expect(await blocked()).toMatchObject([{ blocked_reason: 'certificate_refused' }]);
    expect(alerts()).toHaveLength(1);
  });
});
