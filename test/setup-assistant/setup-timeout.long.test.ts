import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';
import {
  assignProfile,
  carryOut,
  createProvedDevice,
  createRecord,
  idOf,
  letTimePass,
  runSetups,
  setupOf,
  setupsOf,
  TIMEOUT,
  typeIn,
  WAITING,
} from './setup-fixture.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'tags', 'device_groups']) {
    await app.db.knex(table).delete();
  }
});

/** One that puts off its profile for ever. */
async function createBusyDevice(): Promise<TestDevice> {
  const { device, links } = await createRecord(app, 'tag');
  await assignProfile(app, links);
  await device.enroll({}, WAITING);
  await carryOut(device, putOff);
  return device;
}

const putOff = (type: string) => (type === 'InstallProfile' ? 'NotNow' : 'Acknowledged');

async function commandOf(device: TestDevice, request_type: string) {
  return app.db
    .knex('commands')
    .where({ device_id: await idOf(app, device), request_type })
    .orderBy('id', 'desc')
    .first();
}

describe('a device that waits for too long', () => {
  it('is not released before its time is over', async () => {
    const device = await createBusyDevice();
    expect(await runSetups(app)).toEqual([]);
    expect(await carryOut(device, putOff)).toEqual(['InstallProfile']);
  });

  it('is released and pushed, with the reason, and gets its profile later', async () => {
    const device = await createBusyDevice();
    await app.db.knex('device_pushes').delete();
    await letTimePass(app, device);
    const { id } = await commandOf(device, 'InstallProfile');
    const reason = `released after 15 min while InstallProfile (command ${id}, NotNow) had no answer`;
    expect(await runSetups(app)).toMatchObject([{ level: 40, reason }]);
    const deviceId = await idOf(app, device);
    expect(await app.db.knex('device_pushes').pluck('device_id')).toEqual([deviceId]);
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting', attempts: 1, reason });
    const first = await device.idle();
    expect(typeIn(first)).toBe('DeviceConfigured');
    await device.report(commandIn(first)?.uuid ?? '');
    await app.waitForReports();
    expect(await setupOf(app, device)).toMatchObject({ state: 'configured', reason });
    expect(await carryOut(device)).toEqual(['InstallProfile']);
  });

  it('is retried five times, then its setup fails while DeviceConfigured stays queued', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await letTimePass(app, device);
      await runSetups(app);
      // Not yet due again.
      await runSetups(app);
      const { state, attempts, due_at } = await setupOf(app, device);
      expect([state, attempts]).toEqual(['waiting', attempt]);
      expect(due_at.getTime()).toBeGreaterThan(Date.now() + 4 * 60_000);
    }
    await letTimePass(app, device);
    await runSetups(app);
    const failed = await setupOf(app, device);
    expect(failed).toMatchObject({ state: 'failed', attempts: 5 });
    expect(failed.reason).toMatch(
      /^released after 15 min while DeviceInformation \(command \d+, Queued\) had no answer; given up after 5 attempts$/,
    );
    expect(failed.ended_at).not.toBeNull();
    expect(await runSetups(app)).toEqual([]);
    // It comes back after all.
    expect((await carryOut(device))[0]).toBe('DeviceConfigured');
    await app.waitForReports();
    expect(await setupOf(app, device)).toMatchObject({ state: 'configured' });
  });

  it('has the unanswered DeviceConfigured as the reason when no other command is open', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    await carryOut(device, (type) => (type === 'DeviceConfigured' ? 'NotNow' : 'Acknowledged'));
    await letTimePass(app, device);
    await runSetups(app);
    const { id } = await commandOf(device, 'DeviceConfigured');
    const reason = `DeviceConfigured (command ${id}, NotNow) had no answer after 15 min`;
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting', reason });
  });
});

describe('a DeviceConfigured that failed', () => {
  it.each(['Error', 'CommandFormatError'])(
    '(%s) is sent again, with the reason',
    async (status) => {
      const device = await (await createTestDevice(app)).enroll({}, WAITING);
      await carryOut(device, (type) => (type === 'DeviceConfigured' ? status : 'Acknowledged'));
      const { id } = await commandOf(device, 'DeviceConfigured');
      await app.db
        .knex('commands')
        .where({ id })
        .update({ error_chain: JSON.stringify([{ LocalizedDescription: 'Not ready' }]) });
      const reason = `DeviceConfigured (command ${id}) is ${status}: Not ready`;
      expect(await runSetups(app)).toMatchObject([{ level: 40, reason }]);
      expect(await setupOf(app, device)).toMatchObject({ state: 'waiting', attempts: 1, reason });
      expect(await carryOut(device)).toEqual(['DeviceConfigured']);
      await app.waitForReports();
      expect(await setupOf(app, device)).toMatchObject({ state: 'configured', reason });
    },
  );

  it('is sent before all other commands again once the time is over', async () => {
    const device = await createBusyDevice();
    await letTimePass(app, device);
    await runSetups(app);
    const refused = commandIn(await device.idle());
    expect(refused?.command.RequestType).toBe('DeviceConfigured');
    await device.report(refused?.uuid ?? '', 'Error');
    await runSetups(app);
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting', attempts: 2 });
    expect(await carryOut(device)).toEqual(['DeviceConfigured']);
    expect(await carryOut(device)).toEqual(['InstallProfile']);
  });

  it('is sent again when somebody has cancelled or removed it', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    const { id } = await commandOf(device, 'DeviceConfigured');
    const path = `/commands/${id}`;
    const attributes = { status: 'Cancelled' };
    await adminApi(app).patch(path, { data: { type: 'commands', id, attributes } });
    await runSetups(app);
    const again = await commandOf(device, 'DeviceConfigured');
    expect(again.id).toBeGreaterThan(id);
    expect((await adminApi(app).delete(`/commands/${again.id}`)).status).toBe(204);
    await runSetups(app);
    const { reason } = await setupOf(app, device);
    expect(reason).toBe('DeviceConfigured was removed from the queue');
    expect((await carryOut(device)).at(-1)).toBe('DeviceConfigured');
  });

  it('ends the setup as failed after five attempts', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    const refuse = (type: string) => (type === 'DeviceConfigured' ? 'Error' : 'Acknowledged');
    for (let attempt = 0; attempt <= 5; attempt += 1) {
      expect((await carryOut(device, refuse)).at(-1)).toBe('DeviceConfigured');
      await runSetups(app);
    }
    const { state, reason } = await setupOf(app, device);
    expect(state).toBe('failed');
    expect(reason).toMatch(/is Error; given up after 5 attempts$/);
    expect(await carryOut(device)).toEqual([]);
  });
});

describe('the setup of a device', () => {
  it('ends when the device has left Setup Assistant by itself', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    await device.tokenUpdate({ AwaitingConfiguration: false });
    expect(await runSetups(app)).toMatchObject([{ level: 30 }]);
    const reason = 'the device continued by itself';
    expect(await setupOf(app, device)).toMatchObject({ state: 'configured', reason });
  });

  it('ends when the device unenrolls', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    await device.checkOut();
    await runSetups(app);
    const reason = 'the device unenrolled before it was set up';
    expect(await setupOf(app, device)).toMatchObject({ state: 'failed', reason });
  });

  it('ends when the device enrolls again, and a new one begins', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await assignProfile(app, links);
    await device.enroll({}, WAITING);
    const again = device.with((await createProvedDevice(app, device.udid)).certificate);
    await again.authenticate();
    await runSetups(app);
    const reason = 'the device enrolled again before it was set up';
    expect(await setupOf(app, device)).toMatchObject({ state: 'failed', reason });
    await again.tokenUpdate(WAITING);
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting', reason: null });
    const types = await carryOut(again);
    expect(types.filter((type) => type === 'InstallProfile')).toHaveLength(1);
    expect(types.at(-1)).toBe('DeviceConfigured');
  });

  it('is deleted with the record of the device', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    const { status } = await adminApi(app).delete(`/devices/${await idOf(app, device)}`);
    expect(status).toBe(204);
    expect(await app.db.knex('device_setups').select()).toEqual([]);
  });
});

describe('after a crash', () => {
  it('a waiting device without a setup is found and set up', async () => {
    const device = await (await createTestDevice(app)).enroll();
    // As if the process had died between the TokenUpdate and the setup.
    await app.db.knex('devices').update({ awaiting_configuration: true });
    await runSetups(app);
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting' });
    expect((await carryOut(device)).at(-1)).toBe('DeviceConfigured');
  });

  it('a check-in is answered although its setup cannot begin, and the setup begins later', async () => {
    await app.db.knex.raw('alter table device_setups rename to hidden');
    const device = await createTestDevice(app);
    await device.authenticate();
    expect((await device.tokenUpdate(WAITING)).status).toBe(200);
    await app.db.knex.raw('alter table hidden rename to device_setups');
    expect(await setupOf(app, device)).toBeUndefined();
    await runSetups(app);
    expect((await carryOut(device)).at(-1)).toBe('DeviceConfigured');
  });

  it('another process continues a setup that was begun', async () => {
    const device = await createBusyDevice();
    await letTimePass(app, device);
    const next = await startApp({ database: app.database, isSweeping: false });
    try {
      await runSetups(next);
      expect(await setupOf(next, device)).toMatchObject({ state: 'waiting', attempts: 1 });
    } finally {
      await next.halt();
    }
  });
});

describe('processes at the same time', () => {
  it('begin a setup once', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await app.db.knex('devices').update({ awaiting_configuration: true });
    const id = await idOf(app, device);
    await Promise.all([1, 2, 3, 4].map(() => setupsOf(app).begin(id)));
    const queued = app.db.knex('commands').where({ request_type: 'DeviceConfigured' });
    expect(await queued).toHaveLength(1);
  });

  it('decide on each setup once', async () => {
    const devices = await Promise.all(
      Array.from({ length: 6 }, async () => (await createTestDevice(app)).enroll({}, WAITING)),
    );
    for (const device of devices) await letTimePass(app, device);
    const setups = [1, 2, 3].map(() => setupsOf(app));
    const counts = await Promise.all(setups.map((some) => some.advance(100)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(6);
    expect(await app.db.knex('device_setups').distinct().pluck('attempts')).toEqual([1]);
  });

  it('do not change setups that are not due', async () => {
    await (await createTestDevice(app)).enroll({}, WAITING);
    expect(await setupsOf(app, { timeout: TIMEOUT }).advance(100)).toBe(0);
  });
});
