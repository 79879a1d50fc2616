import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';

let app: TestApp;
let device: TestDevice;
let id: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
  ({ id } = await app.db.knex('devices').where({ udid: device.udid }).first('id'));
  await app.db.knex('commands').where({ device_id: id }).delete();
  await runs('26.4');
});

/** The device reports another system. */
function runs(version: string): Promise<number> {
  const facts = { platform: 'macOS', os_version: version };
  return app.db.knex('devices').where({ id }).update(facts);
}

async function queue(type: string, query = ''): Promise<string> {
  const path = `/commands${query}`;
  const { status, body } = await adminApi(app).post(path, commandDocument(id, type));
  expect(status).toBe(201);
  return body.data.attributes.uuid;
}

function command(uuid: string) {
  const columns = ['status', 'reason', 'attempts', 'sent_at'] as const;
  return app.db
    .knex('commands')
    .where({ uuid })
    .first(...columns);
}

function reason(type: string): string {
  return (
    `not_eligible_any_more: ${type} was removed with macOS 27.0, and the device runs 27.0 (device ${id}); ` +
    'the declaration com.apple.configuration.softwareupdate.enforcement.specific enforces an update there'
  );
}

describe('a command that its device can no longer take', () => {
  it('is cancelled with the reason, with all of its type, and the next one is sent at once', async () => {
    const removed = [await queue('OSUpdateStatus'), await queue('ScheduleOSUpdateScan')];
    const possible = await queue('ProfileList');
    const sameType = await queue('OSUpdateStatus');
    await runs('27.0');
    expect(commandIn(await device.idle())?.uuid).toBe(possible);
    const cancelled = { status: 'Cancelled', attempts: 0, sent_at: null };
    expect(await Promise.all([...removed, sameType].map(command))).toEqual([
      { ...cancelled, reason: reason('OSUpdateStatus') },
      { ...cancelled, reason: reason('ScheduleOSUpdateScan') },
      { ...cancelled, reason: reason('OSUpdateStatus') },
    ]);
    const lines = app.logLines.filter(({ msg }) => msg === 'a command is no longer possible');
    expect(lines.map(({ requestType }) => requestType)).toEqual([
      'OSUpdateStatus',
      'ScheduleOSUpdateScan',
    ]);
  });

  it('is cancelled where the enrollment profile turns out to lack its right', async () => {
    const uuid = await queue('CertificateList');
    await app.db
      .knex('devices')
      .where({ id })
      .update({ access_rights: 8191 - 1 });
    expect(commandIn(await device.idle())).toBeUndefined();
    const detail =
      'CertificateList needs the access right AllowInspection, which the enrollment profile does not grant';
    expect(await command(uuid)).toMatchObject({
      status: 'Cancelled',
      reason: `not_eligible_any_more: ${detail} (device ${id})`,
    });
  });

  it('is sent all the same when an admin forced it', async () => {
    const ordinary = await queue('OSUpdateStatus');
    const forced = await queue('OSUpdateStatus', '?force=true');
    await runs('27.0');
    expect(commandIn(await device.idle())?.uuid).toBe(forced);
    expect((await command(ordinary))?.status).toBe('Cancelled');
  });

  it('keeps the time at which it was sent before, and a late answer to it counts', async () => {
    const uuid = await queue('OSUpdateStatus');
    await device.idle();
    await device.report(uuid, 'NotNow');
    await runs('27.0');
    const reply = await device.idle();
    expect([reply.status, reply.body.length]).toEqual([200, 0]);
    expect(await command(uuid)).toEqual({
      status: 'Cancelled',
      reason: reason('OSUpdateStatus'),
      attempts: 1,
      sent_at: expect.any(Date),
    });
    await device.report(uuid);
    expect(await command(uuid)).toMatchObject({ status: 'Acknowledged', reason: null });
  });

  it('stays for a device that takes it', async () => {
    const uuid = await queue('OSUpdateStatus');
    await runs('26.5');
    expect(commandIn(await device.idle())?.uuid).toBe(uuid);
    expect(await command(uuid)).toMatchObject({ status: 'Sent', reason: null, attempts: 1 });
  });
});

describe('parameters that the device can no longer take', () => {
  const knows = (facts: Record<string, unknown>) =>
    app.db.knex('devices').where({ id }).update(facts);

  async function queueWith(type: string, parameters: object, query = ''): Promise<string> {
    const document = commandDocument(id, type, { parameters });
    const { status, body } = await adminApi(app).post(`/commands${query}`, document);
    expect([status, body.errors]).toEqual([201, undefined]);
    return body.data.attributes.uuid;
  }

  const cancelled = (detail: string) => ({
    status: 'Cancelled',
    reason: `not_eligible_any_more: ${detail}`,
    attempts: 0,
    sent_at: null,
  });

  it('cancel a command with a PIN once the device turns out to have none, and the next one is sent', async () => {
    await knows({ platform: null, os_version: null });
    const withPin = await queueWith('DeviceLock', { PIN: '123456' });
    const forced = await queueWith('DeviceLock', { PIN: '654321' }, '?force=true');
    await knows({ platform: 'iOS', os_version: '18.0' });
    const sent = commandIn(await device.idle());
    expect([sent?.uuid, sent?.command.PIN]).toEqual([forced, '654321']);
    expect(await command(withPin)).toEqual(
      cancelled(`PIN of DeviceLock does not exist on iOS, which device ${id} runs`),
    );
  });

  it('cancel a command without a PIN once the device turns out to need one', async () => {
    await knows({ platform: null, os_version: null });
    const withoutPin = await queueWith('DeviceLock', { Message: 'Back to the lobby' });
    const restart = await queueWith('RestartDevice', {});
    await knows({ platform: 'macOS', os_version: '15.0' });
    expect(commandIn(await device.idle())?.uuid).toBe(restart);
    expect(await command(withoutPin)).toEqual(
      cancelled(
        `device ${id} needs a PIN for DeviceLock, and the command has none: ` +
          'queue it for this device, and Muster makes one',
      ),
    );
  });

  it('send a command without a PIN to a Mac that has said that it needs none', async () => {
    await knows({ platform: null, os_version: null });
    const withoutPin = await queueWith('DeviceLock', {});
    const facts = { platform: 'macOS', os_version: '15.0', pin_required_for_device_lock: false };
    await knows(facts);
    expect(commandIn(await device.idle())?.uuid).toBe(withoutPin);
  });

  it('cancel no other command of its type', async () => {
    await knows({ platform: null, os_version: null });
    const withPin = await queueWith('DeviceLock', { PIN: '123456' });
    const without = await queueWith('DeviceLock', { Message: 'PIN' });
    await knows({ platform: 'iOS', os_version: '18.0' });
    expect(commandIn(await device.idle())?.uuid).toBe(without);
    expect((await command(withPin))?.status).toBe('Cancelled');
  });

  it('cancel Settings with a setting of another platform, and name each', async () => {
    await knows({ platform: null, os_version: null });
    const Settings = [
      { Item: 'HostName', HostName: 'mac' },
      { Item: 'DeviceName', DeviceName: 'mac' },
      { Item: 'MDMOptions', MDMOptions: { BootstrapTokenAllowed: true } },
    ];
    const uuid = await queueWith('Settings', { Settings });
    await knows({ platform: 'iOS', os_version: '18.0', is_supervised: true });
    expect(commandIn(await device.idle())).toBeUndefined();
    expect(await command(uuid)).toEqual(
      cancelled(
        `HostName of Settings does not exist on iOS, which device ${id} runs; ` +
          `BootstrapTokenAllowed of Settings does not exist on iOS, which device ${id} runs`,
      ),
    );
  });

  it('cancel a question only if the device knows none of its queries', async () => {
    const some = { Queries: ['DeviceName', 'OSUpdateSettings'] };
    const none = await queueWith('DeviceInformation', { Queries: ['OSUpdateSettings'] });
    const partly = await queueWith('DeviceInformation', some);
    await runs('27.0');
    const sent = commandIn(await device.idle());
    expect([sent?.uuid, sent?.command]).toEqual([
      partly,
      { ...some, RequestType: 'DeviceInformation' },
    ]);
    expect(await command(none)).toEqual(
      cancelled(
        'OSUpdateSettings of DeviceInformation was removed with macOS 27.0, ' +
          `and the device runs 27.0 (device ${id})`,
      ),
    );
  });
});
