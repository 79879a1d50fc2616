import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { expectEmpty } from './conversation.js';
import { recordsOf } from './records.js';
import { addRequest, certifiedFor, newSerial, newUdid, signedRequest } from './request-world.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(() => {
  app.logLines.length = 0;
});

const { rowOf, newIdentity } = recordsOf(() => app);
const WARNING = 'an enrollment without proof has replaced a proven one';

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

async function expectTold(id: number, provenSerial: string, method = 'profile') {
  expect(warnings()).toMatchObject([
    { level: 40, deviceId: id, provenSerial, formerMethod: 'automated', method },
  ]);
  expect(await auditOf(id)).toMatchObject([
    {
      ...{ actor: 'device', role: 'device', source_address: null, outcome: 'success' },
      ...{ target_type: 'devices', request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      details: { former_method: 'automated', method, proven_serial: provenSerial },
    },
  ]);
}

async function expectSilence(id: number) {
  expect(warnings()).toEqual([]);
  expect(await auditOf(id)).toEqual([]);
}

describe('an enrollment without proof that replaces a proven, live one', () => {
  it('is accepted, and told to the log and the audit trail, once', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const other = device.with(await newIdentity());
    expectEmpty(await other.authenticate({ SerialNumber: serial }));
    expectEmpty(await other.authenticate({ SerialNumber: serial }));
    expectEmpty(await other.tokenUpdate());
    expectEmpty(await other.authenticate({ SerialNumber: serial }));
    expect(await rowOf(other)).toMatchObject({ id, is_enrolled: true, proven_serial: null });
    await expectTold(id, serial);
  });

  it('is told with the way that it came', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const request = signedRequest({ method: 'account_device', account: 'a@example.com' });
    const requestId = await addRequest(app, request);
    const other = await certifiedFor(app, { requestId }, { UDID: device.udid });
    await other.enroll({ SerialNumber: serial });
    await expectTold(id, serial, 'account_device');
  });

  it('is told also of the record whose UDID it takes along', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    await (await createTestDevice(app)).enroll({ SerialNumber: otherSerial });
    await device.with(await newIdentity()).enroll({ SerialNumber: otherSerial });
    expect(await app.db.knex('devices').where({ id }).first()).toMatchObject({ udid: null });
    await expectTold(id, serial);
  });
});

describe('the serial number of a proven, live enrollment', () => {
  it('is not taken over with another UDID and without proof', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const before = await rowOf(device);
    const stranger = await createTestDevice(app);
    const refused = await stranger.authenticate({ SerialNumber: serial });
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
    const stranger = other.with(await newIdentity());
    expect((await stranger.authenticate({ SerialNumber: serial })).status).toBe(403);
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
    const stranger = await createTestDevice(app);
    const spelled = { SerialNumber: ` ${serial.toLowerCase()} ` };
    expect((await stranger.authenticate(spelled)).status).toBe(403);
    expect(await app.db.knex('devices').where({ serial_number: serial })).toHaveLength(1);
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true, proven_serial: serial });
  });

  it('stays when its UDID enrolls without proof, so that the device finds its record', async () => {
    const serial = newSerial();
    const device = await proven(newUdid(), serial);
    const { id } = await rowOf(device);
    const BootstrapToken = Buffer.from('of the owner');
    expectEmpty(await device.checkIn('SetBootstrapToken', { BootstrapToken }));
    const stranger = device.with(await newIdentity());
    await stranger.enroll({ SerialNumber: newSerial() });
    expectEmpty(await stranger.checkOut());
    await stranger.enroll({ SerialNumber: newSerial() });
    expect(await rowOf(stranger)).toMatchObject({ id, serial_number: serial });
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

describe('nothing is told of an enrollment', () => {
  it('that is proven itself', async () => {
    const serial = newSerial();
    const { udid, ids } = await proven(newUdid(), serial);
    const device = await proven(udid, serial);
    expect(ids).toEqual(device.ids);
    await expectSilence((await rowOf(device)).id);
  });

  it('that is proven itself, and takes the UDID along', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const { udid } = await proven(newUdid(), serial);
    await (await createTestDevice(app)).enroll({ SerialNumber: otherSerial });
    const device = await proven(udid, otherSerial);
    const [old] = await app.db.knex('devices').where({ serial_number: serial });
    expect(old).toMatchObject({ udid: null, enrollment_state: 'unenrolled' });
    await expectSilence(old.id);
    await expectSilence((await rowOf(device)).id);
  });

  it('that replaces one without proof', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await device.with(await newIdentity()).enroll();
    await expectSilence((await rowOf(device)).id);
  });

  it('that follows one that has ended', async () => {
    const device = await proven(newUdid(), newSerial());
    expectEmpty(await device.checkOut());
    await device.with(await newIdentity()).enroll();
    await expectSilence((await rowOf(device)).id);
  });

  it('that goes on', async () => {
    const device = await proven(newUdid(), newSerial());
    expectEmpty(await device.authenticate());
    await expectSilence((await rowOf(device)).id);
  });
});
