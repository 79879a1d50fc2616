import type { LogLine } from '../http/log-lines.js';
import { eventually, type PushWorld, startPushWorld, type TestTarget } from './push-world.js';

let world: PushWorld;

beforeAll(async () => {
  world = await startPushWorld();
  await world.addCertificate();
});
afterEach(() => world.reset());
afterAll(() => world.stop());

const ERROR = 50;
const WARN = 40;

function linesOf(level: number): LogLine[] {
  return world.logLines.filter((line) => line.level === level);
}

/** One push with one answer, and how it ended. */
async function endOf(target: TestTarget) {
  await world.queueCommand(target);
  await eventually(async () => {
    expect((await world.deviceRow(target)).last_push_result).not.toBeNull();
    expect((await world.pushRow(target))?.claimed_at ?? null).toBeNull();
  });
  return { device: await world.deviceRow(target), row: await world.pushRow(target) };
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
      const target = await world.device();
      world.standIn.addAnswer({ token: target.token, status, reason });
      const { results } = world.start();
      const { device, row } = await endOf(target);
      expect(device).toMatchObject({ push_state, last_push_result: reason, failed_push_count: 1 });
      expect(device).toMatchObject({ is_enrolled: true, enrollment_state: 'enrolled' });
      expect(row).toBeUndefined();
      await world.queueCommand(target);
      expect(await world.pushRow(target)).toBeUndefined();
      expect(results).toEqual(new Map([[reason, 1]]));
    },
  );

  it('keeps its state when it has sent a new token meanwhile, and is pushed with that one', async () => {
    const target = await world.device();
    world.standIn.addAnswer({ token: target.token, status: 410, delayMs: 400, times: 1 });
    world.start();
    await world.queueCommand(target);
    await eventually(() => expect(world.standIn.answers()).toEqual([]));
    const renewed = { ...target, token: target.token.split('').reverse().join('') };
    await world.renewToken(renewed);
    await eventually(() => expect(world.accepted(renewed)).toBe(1));
    await eventually(async () => {
      expect(await world.deviceRow(target)).toMatchObject({
        push_state: 'ok',
        last_push_result: 'delivered',
        failed_push_count: 0,
      });
    });
  });

  it('keeps its state when it has sent its token after the time that Apple names', async () => {
    const target = await world.device();
    const timestamp = Date.now() - 7 * 86_400_000;
    world.standIn.addAnswer({ token: target.token, status: 410, timestamp });
    world.start();
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
    const target = await world.device();
    world.standIn.addAnswer({ token: target.token, status, reason, times: 1 });
    world.start();
    const { device, row } = await endOf(target);
    expect(device).toMatchObject({ push_state: 'ok', last_push_result: reason });
    expect(device.failed_push_count).toBe(1);
    expect(row).toMatchObject({ attempts: 0 });
    expect(row?.due_in).toBeGreaterThan(2);
    expect(row?.due_in).toBeLessThanOrEqual(6.25);
    await world.db.knex('device_pushes').update({ due_at: world.db.knex.fn.now() });
    await eventually(async () => {
      expect(await world.deviceRow(target)).toMatchObject({
        last_push_result: 'delivered',
        failed_push_count: 0,
      });
    });
  });

  it('waits longer each time, five minutes at most', async () => {
    const target = await world.device();
    await world.db.knex('devices').where({ id: target.id }).update({ failed_push_count: 3 });
    world.standIn.addAnswer({ token: target.token, status: 503 });
    world.start();
    const { row } = await endOf(target);
    expect(row?.due_in).toBeGreaterThan(0.75 * 40 - 3);
    expect(row?.due_in).toBeLessThanOrEqual(1.25 * 40);
  });

  it('waits as long as Apple says', async () => {
    const target = await world.device();
    world.standIn.addAnswer({ token: target.token, status: 429, retryAfter: 120 });
    world.start();
    const { row } = await endOf(target);
    expect(row?.due_in).toBeGreaterThan(117);
    expect(row?.due_in).toBeLessThanOrEqual(150);
  });

  it('is repeated on the usual schedule when it was rejected as malformed, and logged once', async () => {
    const targets = await world.devices(5);
    world.standIn.addAnswer({ status: 413, reason: 'PayloadTooLarge' });
    world.start();
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
    const target = await world.device();
    const sealed_push = Buffer.from('MSB1 of another master key, as after a mix-up of backups');
    await world.db.knex('devices').where({ id: target.id }).update({ sealed_push });
    world.start();
    for (let time = 0; time < 2; time += 1) {
      await world.queueCommand(target);
      await eventually(async () => {
        expect((await world.pushRow(target))?.due_in).toBeGreaterThan(17 * 3600);
      });
    }
    expect(await world.deviceRow(target)).toMatchObject({ push_state: 'ok' });
    expect(linesOf(ERROR)).toMatchObject([{ deviceId: target.id }]);
  });
});

describe('a topic without a push certificate', () => {
  const OTHER = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-00000000000f';

  it('keeps its devices waiting, with no_push_certificate as their result, until there is one', async () => {
    const targets = await world.devices(3, OTHER);
    const { changes } = world.start();
    for (const target of targets) {
      const { device, row } = await endOf(target);
      expect(device).toMatchObject({ last_push_result: 'no_push_certificate', push_state: 'ok' });
      expect(device).toMatchObject({ failed_push_count: 0, last_push_at: null });
      expect(row).toMatchObject({ attempts: 0 });
      expect(row?.due_in).toBeGreaterThan(44 * 60);
    }
    expect(linesOf(WARN)).toMatchObject([{ topic: OTHER }]);
    await world.addCertificate(OTHER);
    await changes.notify('push_certificates');
    await world.runRearmJobs();
    await eventually(() => {
      expect(targets.map(world.accepted)).toEqual([1, 1, 1]);
    });
  });
});

describe('the secrets of pushes', () => {
  it('are not logged', async () => {
    const [refused, fine] = [await world.device(), await world.device()];
    world.standIn.addAnswer({ token: refused.token, status: 400, reason: 'PayloadEmpty' });
    world.start();
    for (const target of [refused, fine]) await endOf(target);
    expect(world.logText()).not.toBe('');
    for (const { token, pushMagic } of [refused, fine]) {
      expect(world.logText().toLowerCase()).not.toContain(token);
      expect(world.logText()).not.toContain(pushMagic);
    }
  });
});
