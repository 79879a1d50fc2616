import { blockTopic } from '../../src/db/push/push-topics.js';
import type { LogLine } from '../http/log-lines.js';
import {
  eventually,
  type PushFixture,
  startPushFixture,
  type TestTarget,
  TOPIC,
} from './push-fixture.js';

let fixture: PushFixture;

const OTHER = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-000000000002';
const MINUTE = 60;

beforeAll(async () => {
  fixture = await startPushFixture();
  for (const topic of [TOPIC, OTHER]) await fixture.addCertificate(topic);
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const ERROR = 50;

function alerts(): LogLine[] {
  return fixture.logLines.filter(({ level }) => level === ERROR);
}

interface TopicRow {
  topic: string;
  blocked_reason: string;
  retry_in: number;
}

async function blocked(): Promise<TopicRow[]> {
  const { rows } = await fixture.db.knex.raw<{ rows: TopicRow[] }>(
    `select topic, blocked_reason, extract(epoch from retry_at - now())::float8 as retry_in
     from push_topics`,
  );
  return rows;
}

async function waits(target: TestTarget, least: number): Promise<void> {
  await eventually(async () => {
    const row = await fixture.pushRow(target);
    expect(row).toMatchObject({ claimed_at: null, attempts: 0 });
    expect(row?.due_in).toBeGreaterThan(least);
  });
}

function delivered(targets: TestTarget[]): Promise<void> {
  return eventually(async () => {
    for (const target of targets) {
      expect(await fixture.deviceRow(target)).toMatchObject({ last_push_result: 'delivered' });
    }
  });
}

const refuse = (times?: number) =>
  fixture.standIn.addAnswer({
    topic: TOPIC,
    status: 403,
    reason: 'BadCertificate',
    times,
  });

/** As if the next attempt were due. */
async function comeRetry(blockedFor = '10 minutes'): Promise<void> {
  const now = fixture.db.knex.fn.now();
  await fixture.db.knex('push_topics').update({
    retry_at: now,
    blocked_at: fixture.db.knex.raw('now() - ?::interval', [blockedFor]),
  });
  await fixture.db.knex('device_pushes').update({ due_at: now });
}

describe('a push certificate that Apple refuses', () => {
  it('keeps the devices of its topic waiting, and raises one alert', async () => {
    const targets = await fixture.devices(20);
    refuse();
    fixture.start();
    fixture.start();
    for (const target of targets) await fixture.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    expect(await blocked()).toMatchObject([{ topic: TOPIC, blocked_reason: 'BadCertificate' }]);
    expect((await blocked())[0]?.retry_in).toBeLessThanOrEqual(10 * MINUTE);
    expect(alerts()).toMatchObject([{ topic: TOPIC, reason: 'BadCertificate' }]);
    const [first] = targets;
    expect(first && (await fixture.deviceRow(first))).toMatchObject({ push_state: 'ok' });
  });

  it('waits as long for a process that finds it being blocked by another', async () => {
    const other = await fixture.db.knex.transaction();
    await other('push_topics').insert({
      topic: TOPIC,
      blocked_reason: 'BadCertificate',
      retry_at: other.raw("now() + interval '10 minutes'"),
    });
    const refusal = { topic: TOPIC, reason: 'BadCertificate', isProbe: false };
    const blocking = blockTopic(fixture.db, refusal);
    await eventually(async () => {
      const { rows } = await fixture.db.pool.query(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'",
      );
      expect(rows).toHaveLength(1);
    });
    await other.commit();
    expect(await blocking).toEqual({ isNew: false, retryIn: expect.any(Number) });
    expect((await blocking).retryIn).toBeGreaterThan(9 * MINUTE * 1000);
  });

  it('does not affect other topics', async () => {
    const [refused, fine] = [await fixture.device(), await fixture.device(OTHER)];
    refuse();
    fixture.start();
    for (const target of [refused, fine]) await fixture.queueCommand(target);
    await waits(refused, 8 * MINUTE);
    await delivered([fine]);
  });

  it('is not tried again for each command', async () => {
    const target = await fixture.device();
    refuse();
    const { service } = fixture.start();
    await fixture.queueCommand(target);
    await waits(target, 8 * MINUTE);
    fixture.standIn.resetCounters();
    await fixture.queueCommand(target);
    service.wake();
    await waits(target, 8 * MINUTE);
    expect(fixture.standIn.report().total).toBe(0);
  });

  it('is tested with one push of one process when the retry is due, then half as often', async () => {
    const targets = await fixture.devices(10);
    refuse();
    const processes = [fixture.start(), fixture.start()];
    for (const target of targets) await fixture.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    for (const [lasted, retry_in] of [
      ['10 minutes', 10 * MINUTE],
      ['20 minutes', 20 * MINUTE],
      ['3 days', 360 * MINUTE],
    ] as const) {
      fixture.standIn.resetCounters();
      await comeRetry(lasted);
      for (const { service } of processes) service.wake();
      await eventually(async () => {
        expect((await blocked())[0]?.retry_in).toBeGreaterThan(retry_in - 10);
      });
      for (const target of targets) await waits(target, 0);
      expect((await blocked())[0]?.retry_in).toBeLessThanOrEqual(retry_in + 1);
      expect(fixture.standIn.report().total).toBe(1);
    }
    expect(alerts()).toHaveLength(1);
  });

  it('unblocks its topic when the test push is accepted', async () => {
    const targets = await fixture.devices(10);
    refuse(1);
    const { service } = fixture.start();
    const [first] = targets;
    if (first) await fixture.queueCommand(first);
    await eventually(async () => expect(await blocked()).toHaveLength(1));
    for (const target of targets) await fixture.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    await comeRetry();
    service.wake();
    await eventually(async () => expect(await blocked()).toEqual([]));
    await fixture.runRearmJobs();
    await delivered(targets);
    expect(alerts()).toHaveLength(1);
  });

  it('unblocks its topic when it is renewed', async () => {
    const targets = await fixture.devices(5);
    refuse(5);
    const { changes } = fixture.start();
    for (const target of targets) await fixture.queueCommand(target);
    for (const target of targets) await waits(target, 8 * MINUTE);
    await fixture.addCertificate();
    await changes.notify('push_certificates');
    fixture.standIn.clearAnswers();
    await fixture.runRearmJobs();
    expect(await blocked()).toEqual([]);
    await delivered(targets);
  });

  it('does not block its topic when another one has already replaced it', async () => {
    const target = await fixture.device();
    const { clients } = fixture.start();
    await clients.forTopic(TOPIC);
    await fixture.addCertificate();
    refuse(1);
    await fixture.queueCommand(target);
    await delivered([target]);
    expect(await blocked()).toEqual([]);
    expect(alerts()).toEqual([]);
  });

  it('is recognized in the TLS handshake too', async () => {
    const target = await fixture.device();
    fixture.standIn.refuseConnections('tls');
    fixture.start();
    await fixture.queueCommand(target);
    await waits(target, 8 * MINUTE);
    expect(await fixture.deviceRow(target)).toMatchObject({
      last_push_result: 'certificate_refused',
      push_state: 'ok',
      failed_push_count: 0,
    });
    expect(await blocked()).toMatchObject([{ blocked_reason: 'certificate_refused' }]);
    expect(alerts()).toHaveLength(1);
  });
});
