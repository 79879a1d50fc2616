import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { expectEmpty, expectPlainRefusal } from './conversation.js';
import { recordsOf } from './records.js';
import {
  addLink,
  addRequest,
  certifiedFor,
  newSerial,
  newUdid,
  signedRequest,
} from './request-fixture.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, pinOf } = recordsOf(() => app);
const requestRow = (id: number) => app.db.knex('enrollment_requests').where({ id }).first();

/** A device whose certificate was issued for a request that names it. */
async function requested(overrides: Parameters<typeof signedRequest>[0] = {}) {
  const [udid, serial] = [newUdid(), newSerial()];
  const ids = { udid, serial_number: serial };
  const requestId = await addRequest(app, signedRequest({ ...ids, ...overrides }));
  const device = await certifiedFor(app, { requestId }, { UDID: udid });
  return { device, requestId, serial, udid };
}

async function expectRefused(say: () => ReturnType<TestDevice['authenticate']>, outcome: string) {
  const [before, logged] = [await dumpRows(app.db), app.logLines.length];
  expectPlainRefusal(await say());
  expect(await dumpRows(app.db)).toEqual(before);
  expect(JSON.stringify(app.logLines.slice(logged))).toContain(
    `the certificate may not enroll this device: ${outcome}`,
  );
}

describe('a certificate that was issued for one device', () => {
  it('enrolls no other UDID, serial number or kind of enrollment', async () => {
    const { device, serial, udid } = await requested();
    const refusals: [TestDevice, object][] = [
      [device.as({ UDID: newUdid() }), { SerialNumber: serial }],
      [device.as({ UDID: newUdid() }), {}],
      [device, { SerialNumber: newSerial() }],
      [device.as({ EnrollmentID: udid }), {}],
    ];
    for (const [other, facts] of refusals) {
      await expectRefused(() => other.authenticate({ ...facts }), 'other_than_requested');
    }
    expectEmpty(await device.authenticate({ SerialNumber: serial }));
  });

  it('enrolls it, however the letters of its ids are written, and says how', async () => {
    const { device, serial, udid, requestId } = await requested({
      unmet_minimum_os_version: '26.1',
    });
    const lower = device.as({ UDID: udid.toLowerCase() });
    await lower.enroll({ SerialNumber: serial.toLowerCase() });
    const row = await rowOf(device);
    expect(row).toMatchObject({
      is_enrolled: true,
      enrollment_method: 'automated',
      proven_serial: serial,
      unmet_minimum_os_version: '26.1',
      managed_apple_account: null,
    });
    expect(await requestRow(requestId)).toMatchObject({
      device_id: row.id,
      enrolled_at: expect.any(Date),
    });
  });

  it('the signed device information supplies a serial number that Authenticate lacks', async () => {
    const { device, serial } = await requested();
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ serial_number: serial });
  });

  it('stays valid when the same device authenticates again, also after a CheckOut', async () => {
    const { device, serial, requestId } = await requested();
    await device.enroll({ SerialNumber: serial });
    const { enrolled_at } = await requestRow(requestId);
    expectEmpty(await device.authenticate({ SerialNumber: serial }));
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true, enrollment_number: 1 });
    await device.checkOut();
    await device.enroll({ SerialNumber: serial });
    expect(await rowOf(device)).toMatchObject({
      is_enrolled: true,
      enrollment_number: 2,
      enrollment_method: 'automated',
    });
    expect(await requestRow(requestId)).toMatchObject({ enrolled_at });
  });

  it('enrolls no device when its request was deleted', async () => {
    const { device, serial, requestId } = await requested();
    await app.db.knex('enrollment_requests').where({ id: requestId }).delete();
    await expectRefused(() => device.authenticate({ SerialNumber: serial }), 'request_gone');
  });

  it('still enrolls only its own device when the record and the request were deleted', async () => {
    const { device, serial, requestId } = await requested();
    await device.enroll({ SerialNumber: serial });
    const { id } = await rowOf(device);
    expect((await adminApi(app).delete(`/devices/${id}`)).status).toBe(204);
    expect(await requestRow(requestId)).toBeUndefined();
    const other = device.as({ UDID: newUdid() });
    await expectRefused(() => other.authenticate({ SerialNumber: serial }), 'other_device');
    expectEmpty(await device.authenticate({ SerialNumber: serial }));
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
  });
});

describe('a certificate of the first phase over the air', () => {
  it('enrolls no device; the one of the second phase does', async () => {
    const [udid, serial] = [newUdid(), newSerial()];
    const request = signedRequest({ method: 'ota', udid, serial_number: serial });
    const requestId = await addRequest(app, request);
    const device = await certifiedFor(app, { requestId, isExchange: true }, { UDID: udid });
    await expectRefused(() => device.authenticate({ SerialNumber: serial }), 'exchange_only');
    const second = await certifiedFor(app, { requestId }, { UDID: udid });
    await second.enroll({ SerialNumber: serial });
    expect(await rowOf(second)).toMatchObject({ enrollment_method: 'ota', is_enrolled: true });
    await expectRefused(() => device.authenticate({ SerialNumber: serial }), 'exchange_only');
  });
});

describe('several certificates of one request', () => {
  const account = 'someone@example.com';

  it('enroll one device', async () => {
    const request = signedRequest({ method: 'account_device', account });
    const requestId = await addRequest(app, request);
    const first = await certifiedFor(app, { requestId });
    const second = await certifiedFor(app, { requestId });
    await first.enroll();
    expect(await rowOf(first)).toMatchObject({
      managed_apple_account: account,
      enrollment_method: 'account_device',
    });
    await expectRefused(() => second.authenticate(), 'request_spent');
  });

  it('enroll one device, also when they come at once', async () => {
    const requestId = await addRequest(app, signedRequest({ method: 'account_device', account }));
    const devices = await Promise.all([1, 2, 3].map(() => certifiedFor(app, { requestId })));
    const replies = await Promise.all(devices.map((device) => device.authenticate()));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
    const rows = await Promise.all(devices.map(rowOf));
    expect(rows.filter((row) => row !== undefined)).toHaveLength(1);
  });
});

describe('a certificate that was issued for the account of a person', () => {
  it('begins a user enrollment with an EnrollmentID, and no other', async () => {
    const account = 'person@example.com';
    const requestId = await addRequest(app, signedRequest({ method: 'account_user', account }));
    const device = await certifiedFor(app, { requestId }, { EnrollmentID: newUdid() });
    const asDevice = device.as({ UDID: newUdid() });
    await expectRefused(() => asDevice.authenticate(), 'other_than_requested');
    await device.enroll();
    const row = await app.db.knex('devices').where({ enrollment_id: device.udid }).first();
    expect(row).toMatchObject({
      managed_apple_account: account,
      enrollment_method: 'account_user',
      enrollment_type: 'user',
      udid: null,
    });
  });
});

describe('the user enrollment of a person', () => {
  const account = 'owner@example.com';

  async function certifiedBy(of: string, EnrollmentID: string): Promise<TestDevice> {
    const request = signedRequest({ method: 'account_user', account: of });
    const requestId = await addRequest(app, request);
    return await certifiedFor(app, { requestId }, { EnrollmentID });
  }

  const numberOf = ({ udid }: TestDevice) =>
    app.db.knex('devices').where({ enrollment_id: udid }).first('enrollment_number');

  it('is not replaced by the certificate of another person', async () => {
    const device = await (await certifiedBy(account, newUdid())).enroll();
    const ids = { EnrollmentID: device.udid };
    const others = [
      await certifiedFor(app, {}, ids),
      await certifiedBy('another@example.com', device.udid),
      (await certifiedFor(app, {}, ids)).as({ EnrollmentID: device.udid.toLowerCase() }),
    ];
    for (const other of others) {
      await expectRefused(() => other.authenticate(), 'other_account');
    }
    const late = await certifiedFor(app, {}, ids);
    await device.checkOut();
    await expectRefused(() => late.authenticate(), 'other_account');
  });

  it('begins anew when the person signs in again, or by its own certificate', async () => {
    const first = await (await certifiedBy(account, newUdid())).enroll();
    const again = await certifiedBy(account.toUpperCase(), first.udid);
    await again.enroll();
    expect(await numberOf(again)).toEqual({ enrollment_number: 2 });
    expectEmpty(await again.authenticate());
    expect(await numberOf(again)).toEqual({ enrollment_number: 2 });
    await again.checkOut();
    await again.enroll();
    expect(await numberOf(again)).toEqual({ enrollment_number: 3 });
  });

  it('can be replaced by any certificate if nobody has signed in', async () => {
    const device = await (await certifiedFor(app, {}, { EnrollmentID: newUdid() })).enroll();
    const other = await certifiedFor(app, {}, { EnrollmentID: device.udid });
    await other.enroll();
    expect(await numberOf(other)).toEqual({ enrollment_number: 2 });
  });
});

describe('a device that enrolls by a link', () => {
  async function link() {
    const { knex } = app.db;
    const names = [newSerial(), newSerial()];
    const tags = await knex('tags')
      .insert(names.map((name) => ({ name })))
      .returning<{ id: number }[]>('id');
    const [group] = await knex('device_groups').insert({ name: names[0] }).returning('id');
    const tagIds = tags.map(({ id }) => id);
    const device_group_id: number = group.id;
    return { id: await addLink(app, { device_group_id }, tagIds), tagIds, device_group_id };
  }

  const tagsOf = (device_id: number) =>
    app.db.knex('device_tags').where({ device_id }).orderBy('tag_id').pluck('tag_id');

  it('gets its tags and its group, beside those that it has', async () => {
    const { id: linkId, tagIds, device_group_id } = await link();
    const device = await certifiedFor(app, { linkId });
    const [known] = await app.db
      .knex('devices')
      .insert({ udid: device.udid })
      .returning<{ id: number }[]>('id');
    const device_id = known?.id ?? 0;
    await app.db.knex('device_tags').insert({ device_id, tag_id: tagIds[0] });
    await device.enroll();
    expect(await rowOf(device)).toMatchObject({ id: device_id, enrollment_link_id: linkId });
    expect(await tagsOf(device_id)).toEqual(tagIds);
    const groups = await app.db.knex('device_group_devices').where({ device_id });
    expect(groups).toEqual([{ device_group_id, device_id }]);
  });

  it('gets them by the link of its request, too', async () => {
    const { id: linkId, tagIds } = await link();
    const { device, serial } = await requested({ enrollment_link_id: linkId });
    await device.enroll({ SerialNumber: serial });
    const row = await rowOf(device);
    expect(row).toMatchObject({ enrollment_link_id: linkId });
    expect(await tagsOf(row.id)).toEqual(tagIds);
  });

  it('enrolls without them when the link was deleted after SCEP', async () => {
    const { id } = await link();
    const device = await certifiedFor(app, { linkId: id });
    await app.db.knex('enrollment_links').where({ id }).delete();
    await device.enroll();
    const row = await rowOf(device);
    expect(row).toMatchObject({ enrollment_link_id: null, is_enrolled: true });
    expect(await tagsOf(row.id)).toEqual([]);
  });

  it('does not get them again while its enrollment continues', async () => {
    const { id: linkId } = await link();
    const device = await certifiedFor(app, { linkId });
    await device.enroll();
    const { id } = await rowOf(device);
    await app.db.knex('device_tags').where({ device_id: id }).delete();
    expectEmpty(await device.authenticate());
    expect(await tagsOf(id)).toEqual([]);
  });
});

it('an unknown device counts as enrolled by a profile', async () => {
  const device = await (await createTestDevice(app)).enroll();
  expect(await rowOf(device)).toMatchObject({
    enrollment_method: 'profile',
    enrollment_link_id: null,
    managed_apple_account: null,
  });
});
