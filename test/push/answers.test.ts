import type { LogLine } from '../http/log-lines.js';
import { eventually, type PushFixture, startPushFixture, type TestTarget } from './push-fixture.js';

let fixture: PushFixture;

beforeAll(async () => {
  fixture = await startPushFixture();
  await fixture.addCertificate();
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const ERROR = 50;
const WARN = 40;

function linesOf(level: number): LogLine[] {
  return fixture.logLines.filter((line) => line.level === level);
}

/** One push with one answer, and how it ended. */
async function endOf(target: TestTarget) {
  await fixture.queueCommand(target);
  await eventually(async () => {
    expect((await fixture.deviceRow(target)).last_push_result).not.toBeNull();
    expect((await fixture.pushRow(target))?.claimed_at ?? null).toBeNull();
  });
  return { device: await fixture.deviceRow(target), row: await fixture.pushRow(target) };
}

describe('a device that Apple does not know', () => {
  it.each([
    [410, 'Unregistered', 'unregistered'],
    [410, 'ExpiredToken', 'unregistered'],
    [400, 'BadDeviceToken', 'bad_token'],
    [400, 'DeviceTokenNotForTopic', 'bad_token'],
  ])(
    'with the answer %i %s is marked %s and not pushed again',
    async (status, reason, push_state) => {
      const target = await fixture.device();
      fixture.standIn.addAnswer({ token: target.token, status, reason });
      const { results } = fixture.start();
      const { device, row } = await endOf(target);
      expect(device).toMatchObject({ push_state, last_push_result: reason, failed_push_count: 1 });
      expect(device).toMatchObject({ is_enrolled: true, enrollment_state: 'enrolled' });
      expect(row).toBeUndefined();
      await fixture.queueCommand(target);
      expect(await fixture.pushRow(target)).toBeUndefined();
      expect(results).toEqual(new Map([[reason, 1]]));
    },
  );

  it('keeps its state when it has sent a new token meanwhile, and is pushed with that one', async () => {
    const target = await fixture.device();
    fixture.standIn.addAnswer({ token: target.token, status: 410, delayMs: 400, times: 1 });
    fixture.start();
    await fixture.queueCommand(target);
    await eventually(() => expect(fixture.standIn.answers()).toEqual([]));
    const renewed = { ...target, token: target.token.split('').reverse().join('') };
    await fixture.renewToken(renewed);
    await eventually(() => expect(fixture.accepted(renewed)).toBe(1));
    await eventually(async () => {
      expect(await fixture.deviceRow(target)).toMatchObject({
        push_state: 'ok',
        last_push_result: 'delivered',
        failed_push_count: 0,
      });
    });
  });

  it('keeps its state when it has sent its token after the time that Apple names', async () => {
    const target = await fixture.device();
    const timestamp = Date.now() - 7 * 86_400_000;
    fixture.standIn.addAnswer({ token: target.token, status: 410, timestamp });
    fixture.start();
    const { device, row } = await endOf(target);
    expect(device).toMatchObject({ push_state: 'ok', last_push_result: 'Unregistered' });
    expect(row?.attempts).toBe(1);
    expect(row?.due_in).toBeGreaterThan(60);
  });
});

describe('a push that Apple cannot accept', () => {
  it.each([
    [429, 'TooManyRequests'],
    [503, 'ServiceUnavailable'],
    [500, 'InternalServerError'],
  ])('with the answer %i %s is repeated after a few seconds', async (status, reason) => {
    const target = await fixture.device();
    fixture.standIn.addAnswer({ token: target.token, status, reason, times: 1 });
    fixture.start();
    const { device, row } = await endOf(target);
    expect(device).toMatchObject({ push_state: 'ok', last_push_result: reason });
    expect(device.failed_push_count).toBe(1);
    expect(row).toMatchObject({ attempts: 0 });
    expect(row?.due_in).toBeGreaterThan(2);
    expect(row?.due_in).toBeLessThanOrEqual(6.25);
    await fixture.db.knex('device_pushes').update({ due_at: fixture.db.knex.fn.now() });
    await eventually(async () => {
      expect(await fixture.deviceRow(target)).toMatchObject({
        last_push_result: 'delivered',
        failed_push_count: 0,
      });
    });
  });

  it('waits longer each time, five minutes at most', async () => {
    const target = await fixture.device();
    await fixture.db.knex('devices').where({ id: target.id }).update({ failed_push_count: 3 });
    fixture.standIn.addAnswer({ token: target.token, status: 503 });
    fixture.start();
    const { row } = await endOf(target);
    expect(row?.due_in).toBeGreaterThan(0.75 * 40 - 3);
    expect(row?.due_in).toBeLessThanOrEqual(1.25 * 40);
  });

  it('waits as long as Apple says', async () => {
    const target = await fixture.device();
    fixture.standIn.addAnswer({ token: target.token, status: 429, retryAfter: 120 });
    fixture.start();
    const { row } = await endOf(target);
    expect(row?.due_in).toBeGreaterThan(117);
    expect(row?.due_in).toBeLessThanOrEqual(150);
  });

  it('is repeated on the usual schedule when it was rejected as malformed, and logged once', async () => {
    const targets = await fixture.devices(5);
    fixture.standIn.addAnswer({ status: 413, reason: 'PayloadTooLarge' });
    fixture.start();
    for (const target of targets) {
      const { device, row } = await endOf(target);
      expect(device).toMatchObject({ push_state: 'ok', last_push_result: 'PayloadTooLarge' });
      expect(row).toMatchObject({ attempts: 1 });
    }
    expect(linesOf(ERROR)).toHaveLength(1);
  });
});

describe('a push token that cannot be opened', () => {
  it('is logged once, keeps the state of its device and is tried again a day later', async () => {
    const target = await fixture.device();
    const sealed_push = Buffer.from('MSB1 of another master key, as after a mix-up of backups');
    await fixture.db.knex('devices').where({ id: target.id }).update({ sealed_push });
    fixture.start();
    for (let time = 0; time < 2; time += 1) {
      await fixture.queueCommand(target);
      await eventually(async () => {
        expect((await fixture.pushRow(target))?.due_in).toBeGreaterThan(17 * 3600);
      });
    }
    expect(await fixture.deviceRow(target)).toMatchObject({ push_state: 'ok' });
    expect(linesOf(ERROR)).toMatchObject([{ deviceId: target.id }]);
  });
});

describe('a topic without a push certificate', () => {
  const OTHER = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-00000000000f';

  it('keeps its devices waiting, with no_push_certificate as their result, until there is one', async () => {
    const targets = await fixture.devices(3, OTHER);
    const { changes } = fixture.start();
    for (const target of targets) {
      const { device, row } = await endOf(target);
      expect(device).toMatchObject({ last_push_result: 'no_push_certificate', push_state: 'ok' });
      expect(device).toMatchObject({ failed_push_count: 0, last_push_at: null });
      expect(row).toMatchObject({ attempts: 0 });
      expect(row?.due_in).toBeGreaterThan(44 * 60);
    }
    expect(linesOf(WARN)).toMatchObject([{ topic: OTHER }]);
    await fixture.addCertificate(OTHER);
    await changes.notify('push_certificates');
    await fixture.runRearmJobs();
    await eventually(() => {
      expect(targets.map(fixture.accepted)).toEqual([1, 1, 1]);
    });
  });
});

describe('the secrets of pushes', () => {
  it('are not logged', async () => {
    const [refused, fine] = [await fixture.device(), await fixture.device()];
    fixture.standIn.addAnswer({ token: refused.token, status: 400, reason: 'PayloadEmpty' });
    fixture.start();
    for (const target of [refused, fine]) await endOf(target);
    expect(fixture.logText()).not.toBe('');
    for (const { token, pushMagic } of [refused, fine]) {
      expect(fixture.logText().toLowerCase()).not.toContain(token);
      expect(fixture.logText()).not.toContain(pushMagic);
    }
  });
});
