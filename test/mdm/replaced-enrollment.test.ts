import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { expectEmpty } from './conversation.js';
import { recordsOf } from './records.js';
import { addRequest, certifiedFor, newSerial, newUdid, signedRequest } from './request-fixture.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(() => {
  app.logLines.length = 0;
});

const { rowOf, newIdentity } = recordsOf(() => app);
const WARNING =
  'a new enrollment replaced a live one: check that the device itself enrolled again ' +
  '(docs/enrollment.md)';

async function proven(udid: string, serial_number: string): Promise<TestDevice> {
  const requestId = await addRequest(app, signedRequest({ udid, serial_number }));
  const device = await certifiedFor(app, { requestId }, { UDID: udid });
  return await device.enroll({ SerialNumber: serial_number });
}

const warnings = () => app.logLines.filter(({ msg }) => msg === WARNING);
const auditOf = (id: number) =>
  app.db
    .knex('audit_events')
    .where({ action: 'devices.enrollment_replaced', target_id: String(id) });

interface Replacement {
  /** The record, and the certificates before and after. */
  id: number;
  former: TestDevice;
  by: TestDevice;
  provenSerial?: string | null;
  formerMethod?: string;
  method?: string;
  isProven?: boolean;
}

const hexOf = ({ certificate }: TestDevice) => certificate.fingerprint.toString('hex');

/** One warning, one audit event, and both certificates in the record and its history. */
async function expectReported({ id, former, by, ...replacement }: Replacement) {
  const { provenSerial = null, formerMethod = 'automated', method = 'profile' } = replacement;
  const { isProven = false } = replacement;
  const [formerFingerprint, fingerprint] = [hexOf(former), hexOf(by)];
  expect(warnings().filter(({ deviceId }) => deviceId === id)).toMatchObject([
    {
      level: 40,
      provenSerial,
      isProven,
      formerMethod,
      method,
      formerFingerprint,
      fingerprint,
    },
  ]);
  expect(await auditOf(id)).toMatchObject([
    {
      actor: 'device',
      role: 'device',
      source_address: null,
      outcome: 'success',
      target_type: 'devices',
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      details: {
        former_method: formerMethod,
        method,
        proven_serial: provenSerial,
        is_proven: isProven,
        former_fingerprint_sha256: formerFingerprint,
        fingerprint_sha256: fingerprint,
      },
    },
  ]);
  await expectShown(id, formerFingerprint);
}

async function expectShown(id: number, formerFingerprint: string) {
  const { body } = await adminApi(app).get(`/devices/${id}?include=former_enrollments`).expect(200);
  const { enrollment_replaced_at: at } = body.data.attributes;
  expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(60_000);
  expect(body.data.attributes).toMatchObject({ replaced_fingerprint_sha256: formerFingerprint });
  const history: { attributes: object }[] = body.included;
  expect(history.map(({ attributes }) => attributes)).toContainEqual(
    expect.objectContaining({ fingerprint_sha256: formerFingerprint }),
  );
}

async function expectSilence(id: number) {
  expect(warnings()).toEqual([]);
  expect(await auditOf(id)).toEqual([]);
  expect(await app.db.knex('devices').where({ id }).first()).toMatchObject({
    enrollment_replaced_at: null,
    replaced_fingerprint_sha256: null,
  });
}

describe('an enrollment that replaces a live one', () => {
  it('is accepted without proof, and reported once', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const other = device.with(await newIdentity());
    expectEmpty(await other.authenticate({ SerialNumber: serial }));
    expectEmpty(await other.authenticate({ SerialNumber: serial }));
    expectEmpty(await other.tokenUpdate());
    expectEmpty(await other.authenticate({ SerialNumber: serial }));
    expect(await rowOf(other)).toMatchObject({ id, is_enrolled: true, proven_serial: null });
    await expectReported({ id, former: device, by: other, provenSerial: serial });
  });

  it('is reported with the way that it came', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const request = signedRequest({ method: 'account_device', account: 'a@example.com' });
    const requestId = await addRequest(app, request);
    const other = await certifiedFor(app, { requestId }, { UDID: device.udid });
    await other.enroll({ SerialNumber: serial });
    const method = 'account_device';
    await expectReported({ id, former: device, by: other, provenSerial: serial, method });
  });

  it('is reported also for the record whose UDID it takes along', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const former = await (await createTestDevice(app)).enroll({ SerialNumber: otherSerial });
    const by = await device.with(await newIdentity()).enroll({ SerialNumber: otherSerial });
    expect(await app.db.knex('devices').where({ id }).first()).toMatchObject({ udid: null });
    await expectReported({ id, former: device, by, provenSerial: serial });
    await expectReported({ id: (await rowOf(by)).id, former, by, formerMethod: 'profile' });
  });

  it('is reported where neither is proven: the owner of the record may be another device', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const by = await device.with(await newIdentity()).enroll();
    const { id } = await rowOf(device);
    await expectReported({ id, former: device, by, formerMethod: 'profile' });
  });

  it('is reported where the serial number alone names the record', async () => {
    const serial = newSerial();
    const device = await (await createTestDevice(app)).enroll({ SerialNumber: serial });
    const { id } = await rowOf(device);
    const by = await (await createTestDevice(app)).enroll({ SerialNumber: serial });
    await expectReported({ id, former: device, by, formerMethod: 'profile' });
  });

  it('is reported where it is proven itself', async () => {
    const serial = newSerial();
    const former = await proven(newUdid(), serial);
    const by = await proven(former.udid, serial);
    const { id } = await rowOf(by);
    const proof = { provenSerial: serial, isProven: true, method: 'automated' };
    await expectReported({ id, former, by, ...proof });
  });

  it('is reported where it is proven itself, and takes the UDID along', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const device = await proven(newUdid(), serial);
    const former = await (await createTestDevice(app)).enroll({ SerialNumber: otherSerial });
    const by = await proven(device.udid, otherSerial);
    const [old] = await app.db.knex('devices').where({ serial_number: serial });
    expect(old).toMatchObject({ udid: null, enrollment_state: 'unenrolled' });
    const proof = { isProven: true, method: 'automated' };
    await expectReported({ id: old.id, former: device, by, provenSerial: serial, ...proof });
    const { id } = await rowOf(by);
    await expectReported({ id, former, by, formerMethod: 'profile', ...proof });
  });

  it('stays visible on the device after it has checked out and enrolled again', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const by = await device.with(await newIdentity()).enroll();
    expectEmpty(await by.checkOut());
    await by.with(await newIdentity()).enroll();
    const { id } = await rowOf(by);
    await expectShown(id, hexOf(device));
    expect(await auditOf(id)).toHaveLength(1);
    const history = await app.db.knex('former_enrollments').where({ device_id: id }).orderBy('id');
    expect(history).toMatchObject([
      { end_reason: 're-enrolled', fingerprint_sha256: hexOf(device) },
      { end_reason: 'checked out', fingerprint_sha256: hexOf(by) },
    ]);
  });
});

describe('the serial number of a proven, live enrollment', () => {
  it('is not taken over with another UDID and without proof', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const before = await rowOf(device);
    const outsider = await createTestDevice(app);
    const refused = await outsider.authenticate({ SerialNumber: serial });
    expect([refused.status, refused.body.toString()]).toEqual([403, '']);
    expect(await rowOf(device)).toEqual(before);
    expect(await app.db.knex('devices').where({ serial_number: serial })).toHaveLength(1);
    expect(app.logText()).toContain('has proved its serial number');
    expectEmpty(await device.authenticate({ SerialNumber: serial }));
  });

  it('is not taken over with the UDID of a third one either', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const other = await (await createTestDevice(app)).enroll({ SerialNumber: newSerial() });
    const before = [await rowOf(device), await rowOf(other)];
    const outsider = other.with(await newIdentity());
    expect((await outsider.authenticate({ SerialNumber: serial })).status).toBe(403);
    expect([await rowOf(device), await rowOf(other)]).toEqual(before);
  });

  it('is not taken by a second Authenticate, nor in other spelling', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    for (const said of [{}, { SerialNumber: newSerial() }]) {
      const other = await (await createTestDevice(app)).enroll(said);
      const { serial_number } = await rowOf(other);
      expectEmpty(await other.authenticate({ SerialNumber: serial }));
      expect(await rowOf(other)).toMatchObject({ serial_number });
    }
    const outsider = await createTestDevice(app);
    const spelled = { SerialNumber: ` ${serial.toLowerCase()} ` };
    expect((await outsider.authenticate(spelled)).status).toBe(403);
    expect(await app.db.knex('devices').where({ serial_number: serial })).toHaveLength(1);
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true, proven_serial: serial });
  });

  it('stays when its UDID enrolls without proof, so that the device finds its record', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const BootstrapToken = Buffer.from('of the owner');
    expectEmpty(await device.checkIn('SetBootstrapToken', { BootstrapToken }));
    const outsider = device.with(await newIdentity());
    await outsider.enroll({ SerialNumber: newSerial() });
    expectEmpty(await outsider.checkOut());
    await outsider.enroll({ SerialNumber: newSerial() });
    expect(await rowOf(outsider)).toMatchObject({ id, serial_number: serial });
    const back = await proven(device.udid, serial);
    expect(await rowOf(back)).toMatchObject({ id, proven_serial: serial });
  });

  it('is taken over with proof, and once its enrollment has ended', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const back = await proven(newUdid(), serial);
    expect(await rowOf(back)).toMatchObject({ id, enrollment_number: 2 });
    expectEmpty(await back.checkOut());
    const last = await (await createTestDevice(app)).enroll({ SerialNumber: serial });
    expect(await rowOf(last)).toMatchObject({ id, enrollment_number: 3, proven_serial: null });
  });
});

describe('nothing is reported of an enrollment', () => {
  it('that follows one that never became live', async () => {
    const device = await createTestDevice(app);
    expectEmpty(await device.authenticate());
    await device.with(await newIdentity()).enroll();
    await expectSilence((await rowOf(device)).id);
  });

  it('whose certificate comes from a renewal', async () => {
    const old = await (await createTestDevice(app)).enroll();
    const device = old.with(await newIdentity());
    const { id } = await rowOf(old);
    const { fingerprint } = device.certificate;
    const pin = { fingerprint, device_id: id, state: 'renewal', udid: old.udid };
    await app.db.knex('device_identities').insert(pin);
    expectEmpty(await device.authenticate());
    expectEmpty(await device.tokenUpdate());
    await expectSilence(id);
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 1 });
  });

  it('that follows one that has ended', async () => {
    const device = await proven(newUdid(), newSerial());
    expectEmpty(await device.checkOut());
    await device.with(await newIdentity()).enroll();
    await expectSilence((await rowOf(device)).id);
  });

  it('that continues', async () => {
    const device = await proven(newUdid(), newSerial());
    expectEmpty(await device.authenticate());
    await expectSilence((await rowOf(device)).id);
  });
});
