import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice, type Fields } from '../../helpers/device.js';
import { newSerial } from '../../mdm/request-fixture.js';
import { deliver, enrolledTarget, type Target } from '../deliver.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(() => {
  app.logLines.length = 0;
});

const rowOf = ({ id }: Target) => app.db.knex('devices').where({ id }).first();

async function reportFrom(target: Target, QueryResponses: Fields) {
  await deliver(app, target, { requestType: 'DeviceInformation', body: { QueryResponses } });
  return await rowOf(target);
}

const warnings = () =>
  app.logLines.filter(({ level, msg }) => level === 40 && msg.startsWith('a device reports'));

async function addRecord(row: object): Promise<number> {
  const [added] = await app.db.knex('devices').insert(row).returning<{ id: number }[]>('id');
  return added?.id ?? 0;
}

describe('the serial number of a record', () => {
  it('a serial number is not changed by a report, which is logged', async () => {
    const [SerialNumber, other] = [newSerial(), newSerial()];
    const target = await enrolledTarget(app, { SerialNumber });
    const row = await reportFrom(target, { SerialNumber: other, DeviceName: 'Another name' });
    expect(row).toMatchObject({ serial_number: SerialNumber, device_name: 'Another name' });
    expect(warnings()).toMatchObject([
      {
        deviceId: target.id,
        serialNumber: SerialNumber,
        reported: other,
        msg: 'a device reports another serial number',
      },
    ]);
  });

  it('is not changed to that of a record of the enrollment program, which stays', async () => {
    const serial_number = newSerial();
    const spare = await addRecord({ serial_number, enrollment_state: 'dep', is_dep: true });
    const target = await enrolledTarget(app, { SerialNumber: newSerial() });
    expect(await reportFrom(target, { SerialNumber: serial_number })).toMatchObject({
      is_dep: false,
    });
    expect(await app.db.knex('devices').where({ id: spare }).first()).toMatchObject({
      serial_number,
    });
  });

  it.each(['', 7, true])('is not cleared by a report of %p', async (said) => {
    const SerialNumber = newSerial();
    const target = await enrolledTarget(app, { SerialNumber });
    const row = await reportFrom(target, { SerialNumber: said });
    expect(row).toMatchObject({ serial_number: SerialNumber });
  });

  it('counts as the same in other letters, and is accepted silently', async () => {
    const SerialNumber = newSerial();
    const target = await enrolledTarget(app, { SerialNumber });
    const row = await reportFrom(target, { SerialNumber: SerialNumber.toLowerCase() });
    expect(row).toMatchObject({ serial_number: SerialNumber });
    expect(warnings()).toEqual([]);
  });

  it('is filled in by a report where there is none', async () => {
    const target = await enrolledTarget(app);
    const SerialNumber = newSerial();
    expect(await reportFrom(target, { SerialNumber })).toMatchObject({
      serial_number: SerialNumber,
    });
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['as it is written', (serial: string) => serial],
    ['in other letters', (serial: string) => serial.toLowerCase()],
  ])('is not filled in with that of another device, %s', async (_how, written) => {
    const SerialNumber = newSerial();
    const owner = await enrolledTarget(app, { SerialNumber });
    const target = await enrolledTarget(app);
    const row = await reportFrom(target, { SerialNumber: written(SerialNumber) });
    expect(row).toMatchObject({ serial_number: null });
    expect(await rowOf(owner)).toMatchObject({ serial_number: SerialNumber, is_enrolled: true });
    expect(warnings()).toMatchObject([
      { deviceId: target.id, msg: 'a device reports the serial number of another one' },
    ]);
  });

  it('a serial number of a record without a UDID is accepted, and the record is merged', async () => {
    const serial_number = newSerial();
    const spare = await addRecord({ serial_number, asset_tag: 'A-1' });
    const target = await enrolledTarget(app);
    const row = await reportFrom(target, { SerialNumber: serial_number });
    expect(row).toMatchObject({ serial_number, asset_tag: 'A-1' });
    expect(await app.db.knex('devices').where({ id: spare })).toEqual([]);
  });
});

it('the UDID of a record is never changed by a report', async () => {
  const target = await enrolledTarget(app);
  const row = await reportFrom(target, { UDID: randomUUID(), EnrollmentID: randomUUID() });
  expect(row).toMatchObject({ udid: target.device.udid, enrollment_id: null });
});

describe('of a user enrollment', () => {
  const HARDWARE = { SerialNumber: newSerial(), IMEI: '35 111111 222222 3', MEID: '3511111122' };

  async function userTarget(): Promise<Target> {
    const device = await createTestDevice(app, { EnrollmentID: randomUUID() });
    await device.enroll(HARDWARE);
    const row = await app.db.knex('devices').where({ enrollment_id: device.udid }).first();
    await app.db.knex('commands').where({ device_id: row.id }).delete();
    return { device, id: row.id };
  }

  const NOTHING = { udid: null, serial_number: null, imei: null, meid: null };

  it('what identifies the hardware is not stored from Authenticate', async () => {
    const target = await userTarget();
    expect(await rowOf(target)).toMatchObject({ ...NOTHING, is_enrolled: true });
  });

  it('what identifies the hardware is not stored from a report', async () => {
    const spare = await addRecord({ serial_number: HARDWARE.SerialNumber });
    const target = await userTarget();
    const { SerialNumber: _, ...ids } = HARDWARE;
    const ServiceSubscriptions = [{ Slot: 'CTSubscriptionSlotOne', ...ids }];
    const row = await reportFrom(target, {
      ...HARDWARE,
      ServiceSubscriptions,
      DeviceName: 'Phone',
    });
    expect(row).toMatchObject({
      ...NOTHING,
      device_name: 'Phone',
      service_subscriptions: [{ Slot: 'CTSubscriptionSlotOne' }],
    });
    expect(row.service_subscriptions).toEqual([{ Slot: 'CTSubscriptionSlotOne' }]);
    expect(await app.db.knex('devices').where({ id: spare })).toHaveLength(1);
    expect(warnings()).toEqual([]);
  });
});
