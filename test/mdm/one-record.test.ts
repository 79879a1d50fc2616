import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
import { expectEmpty, expectPlainRefusal, MESSAGES } from './conversation.js';
import { recordsOf } from './records.js';
import { newSerial, newUdid, recordsWith } from './request-fixture.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, newIdentity, commandsOf, pinOf } = recordsOf(() => app);

async function enrolled(SerialNumber = newSerial(), facts: Fields = {}) {
  const device = await createTestDevice(app);
  await device.enroll({ SerialNumber, ...facts });
  return { device, serial: SerialNumber, id: (await rowOf(device)).id as number };
}

/** The same hardware with another UDID, and an identity of its own. */
async function withNewUdid(device: TestDevice): Promise<TestDevice> {
  return device.as({ UDID: newUdid() }).with(await newIdentity());
}

const formerOf = (device_id: number) =>
  app.db.knex('former_enrollments').where({ device_id }).orderBy('id');

describe('a device with a known serial number and a new UDID', () => {
  it('keeps its record, and the former enrollment stays as history', async () => {
    const { device: old, serial, id } = await enrolled();
    const device = await withNewUdid(old);
    await device.enroll({ SerialNumber: serial });
    expect(await recordsWith(app, serial)).toEqual([
      expect.objectContaining({ id, udid: device.udid, enrollment_number: 2, is_enrolled: true }),
    ]);
    expect(await formerOf(id)).toEqual([
      expect.objectContaining({
        enrollment_number: 1,
        udid: old.udid,
        serial_number: serial,
        enrollment_method: 'profile',
        end_reason: 're-enrolled',
        enrollment_id: null,
        enrolled_at: expect.any(Date),
        authenticated_at: expect.any(Date),
      }),
    ]);
  });

  it('its former certificate is refused, and unenrolls no device', async () => {
    const { device: old, serial } = await enrolled();
    await (await withNewUdid(old)).enroll({ SerialNumber: serial });
    expect(await pinOf(old)).toMatchObject({ state: 'superseded' });
    const before = await dumpRows(app.db);
    for (const [, say] of MESSAGES) expectPlainRefusal(await say(old));
    expectPlainRefusal(await old.authenticate({ SerialNumber: serial }));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('does not get the commands that waited for the former enrollment', async () => {
    const { device: old, serial, id } = await enrolled();
    await adminApi(app).post('/commands', commandDocument(id, 'RestartDevice'));
    const device = await withNewUdid(old);
    await device.enroll({ SerialNumber: serial });
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
    const restart = (await commandsOf(device)).find(
      ({ request_type }) => request_type === 'RestartDevice',
    );
    expect(restart).toMatchObject({ status: 'Cancelled', reason: 're-enrolled' });
  });

  it('is not identified by the certificate of the former enrollment', async () => {
    const { device: old, serial } = await enrolled();
    const before = await dumpRows(app.db);
    expectPlainRefusal(await old.as({ UDID: newUdid() }).authenticate({ SerialNumber: serial }));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it.each([
    ['a short serial number', () => `S${newSerial().slice(8, 10)}`, {}],
    ['zeros', () => '000000000000', {}],
    ['that of a virtual Mac', newSerial, { ProductName: 'VirtualMac2,1' }],
  ])('has a record of its own where all it shows is %s', async (_what, serialOf, facts) => {
    const { serial, device: old } = await enrolled(serialOf(), facts);
    const device = await withNewUdid(old);
    await device.enroll({ SerialNumber: serial, ...facts });
    expect((await recordsWith(app, serial)).map(({ udid }) => udid)).toEqual([
      old.udid,
      device.udid,
    ]);
  });

  it('has a record of its own in a user enrollment', async () => {
    const { serial, id } = await enrolled();
    const device = await createTestDevice(app, { EnrollmentID: newUdid() });
    await device.enroll({ SerialNumber: serial });
    expect(await recordsWith(app, serial)).toMatchObject([
      { id, is_enrolled: true, enrollment_number: 1 },
    ]);
    const own = await app.db.knex('devices').where({ enrollment_id: device.udid });
    expect(own).toMatchObject([{ udid: null, is_enrolled: true }]);
  });
});

describe('a device with a known UDID and a new certificate', () => {
  it('keeps its record, and the former enrollment stays as history', async () => {
    const { device: old, serial, id } = await enrolled();
    const device = old.with(await newIdentity());
    await device.enroll({ SerialNumber: serial });
    expect(await rowOf(device)).toMatchObject({ id, enrollment_number: 2 });
    expect(await formerOf(id)).toMatchObject([{ end_reason: 're-enrolled', udid: old.udid }]);
    expectPlainRefusal(await old.idle());
  });

  it('an enrollment that was never completed leaves no history', async () => {
    const device = await createTestDevice(app);
    await device.authenticate();
    const again = device.with(await newIdentity());
    await again.enroll();
    expect(await formerOf((await rowOf(device)).id)).toEqual([]);
  });

  it('leaves history also by a CheckOut, once', async () => {
    const { device, id } = await enrolled();
    expectEmpty(await device.checkOut());
    expectEmpty(await device.checkOut());
    await device.with(await newIdentity()).enroll();
    expect(await formerOf(id)).toMatchObject([{ end_reason: 'checked out', enrollment_number: 1 }]);
  });

  it('has one record even if many messages authenticate at once', async () => {
    const [UDID, SerialNumber] = [newUdid(), newSerial()];
    const devices = await Promise.all([1, 2, 3, 4].map(() => createTestDevice(app, { UDID })));
    const replies = await Promise.all(
      devices.map((device) => device.authenticate({ SerialNumber })),
    );
    for (const { status } of replies) expect([200, 503]).toContain(status);
    expect(replies.some(({ status }) => status === 200)).toBe(true);
    expect(await recordsWith(app, SerialNumber)).toHaveLength(1);
    const [{ id } = { id: 0 }] = await recordsWith(app, SerialNumber);
    const pins = await app.db.knex('device_identities').where({ device_id: id, state: 'active' });
    expect(pins).toHaveLength(1);
  });
});

describe('a board that moved between two known devices', () => {
  async function moved() {
    const [from, to] = [await enrolled(), await enrolled()];
    await adminApi(app).post('/commands', commandDocument(from.id, 'RestartDevice'));
    const device = from.device.with(await newIdentity());
    expectEmpty(await device.authenticate({ SerialNumber: to.serial }));
    expectEmpty(await device.tokenUpdate());
    return { from, to, device };
  }

  it('is assigned to the record of the serial number that it reports now', async () => {
    const { from, to, device } = await moved();
    expect(await recordsWith(app, to.serial)).toEqual([
      expect.objectContaining({
        id: to.id,
        udid: from.device.udid,
        enrollment_number: 2,
        is_enrolled: true,
      }),
    ]);
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
    expect(await formerOf(to.id)).toMatchObject([
      { end_reason: 're-enrolled', udid: to.device.udid, serial_number: to.serial },
    ]);
  });

  it('leaves the other record without UDID, enrollment and commands', async () => {
    const { from } = await moved();
    const row = await app.db.knex('devices').where({ id: from.id }).first();
    expect(row).toMatchObject({
      udid: null,
      serial_number: from.serial,
      enrollment_state: 'unenrolled',
      is_enrolled: false,
      sealed_push: null,
      unenrolled_at: expect.any(Date),
    });
    expect(await formerOf(from.id)).toMatchObject([
      { end_reason: 'moved', udid: from.device.udid, enrollment_number: 1 },
    ]);
    const commands = await app.db.knex('commands').where({ device_id: from.id });
    expect(new Set(commands.map(({ status }) => status))).toEqual(new Set(['Cancelled']));
    expect(await app.db.knex('device_pushes').where({ device_id: from.id })).toEqual([]);
  });

  it('the certificates of both devices are refused', async () => {
    const { from, to } = await moved();
    const before = await dumpRows(app.db);
    for (const { device } of [from, to]) {
      expect(await pinOf(device)).toMatchObject({ state: 'superseded' });
      for (const [, say] of MESSAGES) expectPlainRefusal(await say(device));
    }
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('the other device enrolls again by its serial number', async () => {
    const { from } = await moved();
    const device = await withNewUdid(from.device);
    await device.enroll({ SerialNumber: from.serial });
    expect(await recordsWith(app, from.serial)).toMatchObject([
      { id: from.id, udid: device.udid, enrollment_number: 2, is_enrolled: true },
    ]);
  });

  it('changes nothing for a certificate that may not enroll', async () => {
    const [from, to, third] = [await enrolled(), await enrolled(), await enrolled()];
    const outsider = third.device.as({ UDID: from.device.udid });
    const before = await dumpRows(app.db);
    expectPlainRefusal(await outsider.authenticate({ SerialNumber: to.serial }));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('a serial number is not accepted from the certificate that its own record has pinned', async () => {
    const [from, to] = [await enrolled(), await enrolled()];
    expectEmpty(await from.device.authenticate({ SerialNumber: to.serial }));
    expect(await rowOf(from.device)).toMatchObject({ id: from.id, enrollment_number: 1 });
    expect(await rowOf(to.device)).toMatchObject({ id: to.id, is_enrolled: true });
  });
});

describe('a record of the enrollment program', () => {
  async function dep(serial_number = newSerial()) {
    const [row] = await app.db
      .knex('devices')
      .insert({
        serial_number,
        enrollment_state: 'dep',
        is_dep: true,
        profile_status: 'assigned',
        asset_tag: 'A-1',
        description: 'IPHONE 13',
        color: 'BLUE',
      })
      .returning<{ id: number }[]>('id');
    return { serial: serial_number, id: row?.id ?? 0 };
  }

  it('is taken over by the device with that serial number', async () => {
    const { serial, id } = await dep();
    const device = await createTestDevice(app);
    await device.enroll({ SerialNumber: serial });
    expect(await recordsWith(app, serial)).toMatchObject([
      { id, udid: device.udid, is_dep: true, color: 'BLUE', is_enrolled: true },
    ]);
    expect(await formerOf(id)).toEqual([]);
  });

  it('is merged into a record that has had the UDID only, with what waits for it', async () => {
    const device = await createTestDevice(app);
    await device.enroll();
    const { id } = await rowOf(device);
    const { serial, id: spare } = await dep();
    const again = device.with(await newIdentity());
    await adminApi(app).post('/commands', commandDocument(spare, 'ManagedApplicationList'));
    expectEmpty(await again.authenticate({ SerialNumber: serial }));
    expect(await recordsWith(app, serial)).toMatchObject([
      { id, udid: device.udid, is_dep: true, color: 'BLUE', asset_tag: 'A-1' },
    ]);
    expectEmpty(await again.tokenUpdate());
    const waiting = await app.db.knex('commands').where({ device_id: id, is_pending: true });
    expect(waiting.map(({ request_type }) => request_type)).toContain('ManagedApplicationList');
  });

  it('the record is merged when the inventory reports the serial number', async () => {
    const device = await createTestDevice(app);
    await device.enroll();
    const { id } = await rowOf(device);
    const { serial } = await dep();
    const offered = commandIn(await device.idle());
    expect(offered?.command.RequestType).toBe('DeviceInformation');
    const QueryResponses = { SerialNumber: serial };
    await device.report(offered?.uuid ?? '', 'Acknowledged', { QueryResponses });
    await app.waitForReports();
    expect(await recordsWith(app, serial)).toMatchObject([{ id, is_dep: true, asset_tag: 'A-1' }]);
  });

  it('is preferred to another serial number that the record had before', async () => {
    const { serial, id } = await dep();
    const { device: old, id: before } = await enrolled();
    const device = old.with(await newIdentity());
    await device.enroll({ SerialNumber: serial });
    expect(await rowOf(device)).toMatchObject({ id, is_dep: true });
    expect(await app.db.knex('devices').where({ id: before }).first()).toMatchObject({
      udid: null,
      is_dep: false,
      enrollment_state: 'unenrolled',
    });
  });
});
