import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';
import { addRequest, certifiedFor, newUdid, signedRequest } from '../mdm/request-fixture.js';
import {
  assignProfile,
  carryOut,
  createRecord,
  idOf,
  runSetups,
  setupOf,
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

async function flagOf(id: number): Promise<boolean | null> {
  const row = await app.db.knex('devices').where({ id }).first('awaiting_configuration');
  return row.awaiting_configuration;
}

async function nameOf(identifier: string): Promise<string> {
  const row = await app.db.knex('profiles').where({ identifier }).first('display_name');
  return row.display_name ?? identifier;
}

/** The uuid of the first InstallProfile, which waits for its answer, and its id. */
async function untilProfile(device: TestDevice): Promise<{ offered: string; id: number }> {
  let next = commandIn(await device.idle());
  while (next !== undefined && next.command.RequestType !== 'InstallProfile') {
    next = commandIn(await device.report(next.uuid));
  }
  if (next === undefined) throw new Error('no profile was offered');
  const { id } = await app.db.knex('commands').where({ uuid: next.uuid }).first('id');
  return { offered: next.uuid, id };
}

async function overTheAir(given: TestApp): Promise<TestDevice> {
  const ids = { UDID: newUdid() };
  const request = signedRequest({ method: 'ota', udid: ids.UDID });
  const device = await certifiedFor(given, { requestId: await addRequest(given, request) }, ids);
  await given.db.knex('enrollment_requests').update({ certificate_id: null });
  return device;
}

describe('a device that waits in Setup Assistant', () => {
  it('gets its inventory, then DeviceConfigured, and is then shown as configured', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    const id = await idOf(app, device);
    const waiting = await setupOf(app, device);
    expect(waiting).toMatchObject({ state: 'waiting', attempts: 0, reason: null, ended_at: null });
    expect(waiting.due_at.getTime() - waiting.started_at.getTime()).toBe(TIMEOUT);
    const types = await carryOut(device);
    expect(types[0]).toBe('DeviceInformation');
    expect(types.indexOf('DeviceConfigured')).toBe(types.length - 1);
    await app.waitForReports();
    const done = await setupOf(app, device);
    expect(done).toMatchObject({ state: 'configured', reason: null });
    expect(done.ended_at).not.toBeNull();
    expect(await flagOf(id)).toBe(false);
    expect(await runSetups(app)).toEqual([]);
    expect(await carryOut(device)).toEqual([]);
  });

  it.each(['tag', 'group', 'both'] as const)(
    'gets each profile assigned by its %s once, in their order, before DeviceConfigured',
    async (by) => {
      const { device, links } = await createRecord(app, by);
      const { links: others } = await createRecord(app, 'both');
      const first = await assignProfile(app, links);
      await assignProfile(app, others);
      const second = await assignProfile(app, links, { PayloadScope: 'System' });
      await device.enroll({}, WAITING);
      const installed: unknown[] = [];
      let offered = commandIn(await device.idle());
      while (offered !== undefined && offered.command.RequestType !== 'DeviceConfigured') {
        if (offered.command.RequestType === 'InstallProfile') {
          installed.push(parsePlistDict(offered.command.Payload as Buffer).PayloadIdentifier);
        }
        offered = commandIn(await device.report(offered.uuid));
      }
      expect(installed).toEqual([first, second]);
      expect(offered?.command.RequestType).toBe('DeviceConfigured');
    },
  );

  it('gets commands that an admin queues meanwhile, whatever their priority, before DeviceConfigured', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    const attributes = { request_type: 'ManagedMediaList', priority: -1000 };
    const path = `/devices/${await idOf(app, device)}/commands`;
    const { status } = await adminApi(app).post(path, { data: { type: 'commands', attributes } });
    expect(status).toBe(201);
    const types = await carryOut(device);
    expect(types.slice(-2)).toEqual(['ManagedMediaList', 'DeviceConfigured']);
  });

  it('is not released while a deferred profile is left', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await assignProfile(app, links);
    await device.enroll({}, WAITING);
    let isBusy = true;
    const answer = (type: string) =>
      type === 'InstallProfile' && isBusy ? 'NotNow' : 'Acknowledged';
    const types = await carryOut(device, answer);
    expect(types).toContain('InstallProfile');
    expect(types).not.toContain('DeviceConfigured');
    // Asked again and again, it puts it off again and again.
    expect(await carryOut(device, answer)).toEqual(['InstallProfile']);
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting' });
    isBusy = false;
    expect(await carryOut(device, answer)).toEqual(['InstallProfile', 'DeviceConfigured']);
  });

  it.each(['Error', 'CommandFormatError'])(
    'is released though a profile failed (%s), with the reason',
    async (status) => {
      const { device, links } = await createRecord(app, 'group');
      const identifier = await assignProfile(app, links);
      await assignProfile(app, links);
      await device.enroll({}, WAITING);
      const { offered, id } = await untilProfile(device);
      const ErrorChain = [{ LocalizedDescription: 'The payload is bad', ErrorCode: 1 }];
      await device.report(offered, status, { ErrorChain });
      expect((await carryOut(device)).at(-1)).toBe('DeviceConfigured');
      await app.waitForReports();
      const { id: profileId } = await app.db.knex('profiles').where({ identifier }).first('id');
      const { state, reason } = await setupOf(app, device);
      expect(state).toBe('configured');
      expect(reason).toBe(
        `profile ${profileId} "${await nameOf(identifier)}" was not installed: ` +
          `command ${id} is ${status}: The payload is bad`,
      );
      expect(app.logText()).toContain('a device has left Setup Assistant without all its profiles');
      expect(app.logText()).toContain('The payload is bad');
    },
  );

  it.each([
    ['Cancelled', 'an admin said so'],
    ['Expired', null],
  ])('shows that a profile is %s when it leaves Setup Assistant by itself', async (status, why) => {
    const { device, links } = await createRecord(app, 'tag');
    const identifier = await assignProfile(app, links);
    await device.enroll({}, WAITING);
    await app.waitForReports();
    const device_id = await idOf(app, device);
    const commands = app.db.knex('commands').where({ device_id, request_type: 'InstallProfile' });
    const [{ id }] = await commands.update({ status, reason: why }).returning('id');
    await device.tokenUpdate({ AwaitingConfiguration: false });
    const { id: profileId } = await app.db.knex('profiles').where({ identifier }).first('id');
    const reason =
      `the device continued by itself; profile ${profileId} "${await nameOf(identifier)}" ` +
      `was not installed: command ${id} is ${status}${why === null ? '' : `: ${why}`}`;
    expect(await runSetups(app)).toMatchObject([{ reason }]);
    expect(await setupOf(app, device)).toMatchObject({ state: 'configured', reason });
  });

  it('is released though a profile cannot be read any more', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await assignProfile(app, links);
    await app.db.knex('profile_versions').update({ sealed_content: Buffer.from('spoilt') });
    await device.enroll({}, WAITING);
    const types = await carryOut(device);
    expect(types).not.toContain('InstallProfile');
    expect(types.at(-1)).toBe('DeviceConfigured');
    expect(app.logText()).toContain('a profile could not be built');
    await app.waitForReports();
    const { state, reason } = await setupOf(app, device);
    expect(state).toBe('configured');
    expect(reason).toMatch(/^profile \d+ ".+" was left out: it could not be built$/);
  });

  it('gets nothing twice when it reports again that it waits', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await assignProfile(app, links);
    await device.enroll({}, WAITING);
    await device.tokenUpdate(WAITING);
    const types = await carryOut(device);
    expect(types.filter((type) => type === 'InstallProfile')).toHaveLength(1);
    // It had not heard of DeviceConfigured when it sent this.
    await device.tokenUpdate(WAITING);
    expect(await carryOut(device)).toEqual([]);
  });

  it('is set up again when it still waits a minute after DeviceConfigured', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    await carryOut(device);
    await app.waitForReports();
    await app.db.knex('device_setups').update({ ended_at: new Date(Date.now() - 61_000) });
    await device.tokenUpdate(WAITING);
    expect(await setupOf(app, device)).toMatchObject({ state: 'waiting', ended_at: null });
    expect(await carryOut(device)).toEqual(['DeviceConfigured']);
  });

  it('is released at once when an admin requests it, and nothing is sent twice', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await assignProfile(app, links);
    await device.enroll({}, WAITING);
    const id = await idOf(app, device);
    const attributes = { request_type: 'DeviceConfigured', priority: 1 };
    await adminApi(app).post(`/devices/${id}/commands`, { data: { type: 'commands', attributes } });
    const first = await device.idle();
    expect(typeIn(first)).toBe('DeviceConfigured');
    await device.report(commandIn(first)?.uuid ?? '');
    await app.waitForReports();
    expect(await setupOf(app, device)).toMatchObject({ state: 'configured' });
    const types = await carryOut(device);
    expect(types).toContain('InstallProfile');
    expect(types).not.toContain('DeviceConfigured');
  });
});

describe('a device that waits without proof of its identity', () => {
  it.each([
    ['an anonymous profile', (given: TestApp) => createTestDevice(given)],
    ['an exchange over the air', (given: TestApp) => overTheAir(given)],
  ])('(%s) is released without any profile, with the reason', async (_by, create) => {
    const { device, links } = await createRecord(app, 'both', create);
    await assignProfile(app, links);
    await device.enroll({}, WAITING);
    const types = await carryOut(device);
    expect(types).not.toContain('InstallProfile');
    expect(types.at(-1)).toBe('DeviceConfigured');
    await app.waitForReports();
    const { state, reason } = await setupOf(app, device);
    expect(state).toBe('configured');
    expect(reason).toBe(
      '1 assigned profile was held back: the device did not enroll automatically ' +
        "with an identity by this server's own SCEP",
    );
    expect(app.logText()).toContain('assigned profiles are held back');
  });

  it('gets no profile even if the enrollment before was automated', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await device.enroll();
    await carryOut(device);
    await assignProfile(app, links);
    const outsider = (await createTestDevice(app)).as(device.ids);
    await outsider.enroll({}, WAITING);
    expect(await carryOut(outsider)).not.toContain('InstallProfile');
  });
});

describe('a Mac in Setup Assistant', () => {
  it('gets its own profiles; those with PayloadScope User wait for a user', async () => {
    const { device, links } = await createRecord(app, 'tag');
    await assignProfile(app, links);
    await assignProfile(app, links, { PayloadScope: 'User' });
    await assignProfile(app, links, { PayloadScope: 'System' });
    await device.enroll({ ProductName: 'Mac14,2', ModelName: 'MacBook Air' }, WAITING);
    const types = await carryOut(device);
    expect(types.filter((type) => type === 'InstallProfile')).toHaveLength(2);
    expect(types.at(-1)).toBe('DeviceConfigured');
    const states = await app.db.knex('device_items').where({ state: 'waiting_for_user' });
    expect(states).toHaveLength(1);
    await runSetups(app);
    expect(await setupOf(app, device)).toMatchObject({ state: 'configured', reason: null });
  });
});

describe('a device that does not wait', () => {
  it.each([[{}], [{ AwaitingConfiguration: false }]])(
    'is neither sent DeviceConfigured nor tracked (%j)',
    async (fields) => {
      const { device, links } = await createRecord(app, 'tag');
      await assignProfile(app, links);
      await device.enroll({}, fields);
      expect(await carryOut(device)).not.toContain('DeviceConfigured');
      expect(await runSetups(app)).toEqual([]);
      expect(await setupOf(app, device)).toBeUndefined();
    },
  );

  it('is not set up because of a message of a user', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await device.tokenUpdate({ ...WAITING, UserID: 'U-1', UserShortName: 'anna' });
    await runSetups(app);
    expect(await setupOf(app, device)).toBeUndefined();
  });
});

describe('the API', () => {
  it('shows the setup of a device, and all devices that still wait', async () => {
    const device = await (await createTestDevice(app)).enroll({}, WAITING);
    await (await createTestDevice(app)).enroll();
    const id = await idOf(app, device);
    const { body: one } = await adminApi(app).get(`/devices/${id}/device_setups`);
    const { command_id } = await setupOf(app, device);
    expect(one.data).toHaveLength(1);
    expect(one.data[0]).toMatchObject({
      type: 'device_setups',
      attributes: { state: 'waiting', reason: null, attempts: 0, ended_at: null },
      relationships: {
        device: { data: { type: 'devices', id } },
        command: { data: { type: 'commands', id: command_id } },
      },
    });
    const { body: all } = await adminApi(app).get('/device_setups?filter[state]=waiting');
    expect(all.data).toEqual(one.data);
    const refused = await adminApi(app).patch(`/device_setups/${one.data[0].id}`, one);
    expect(refused.status).toBe(405);
  });
});
