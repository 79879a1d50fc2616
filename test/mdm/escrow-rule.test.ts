import { parsePlistDict } from '../../src/protocol/plist.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { expectEmpty } from './conversation.js';
import { recordsOf } from './records.js';
import { addRequest, certifiedFor, newSerial, newUdid, signedRequest } from './request-world.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, newIdentity } = recordsOf(() => app);
const BootstrapToken = Buffer.from('bootstrap token of the owner');
const UnlockToken = Buffer.from('unlock token of the owner');

/** Enrolled, with both tokens given to the server. */
async function owner(device: TestDevice, serial: string): Promise<number> {
  await device.enroll({ SerialNumber: serial }, { UnlockToken });
  expectEmpty(await device.checkIn('SetBootstrapToken', { BootstrapToken }));
  return (await rowOf(device)).id;
}

/** A certificate that Apple's signature binds to this device. */
async function bound(udid: string, serial: string): Promise<TestDevice> {
  const ids = { udid, serial_number: serial };
  const requestId = await addRequest(app, signedRequest(ids));
  return await certifiedFor(app, { requestId }, { UDID: udid });
}

async function bootstrapTokenFor(device: TestDevice) {
  const reply = await device.checkIn('GetBootstrapToken');
  expect(reply.status).toBe(200);
  return reply.body.length === 0 ? undefined : parsePlistDict(reply.body).BootstrapToken;
}

const clearPasscode = (id: number) => adminApi(app).post(`/devices/${id}/clear_passcode`);
const secretsOf = (device_id: number) =>
  app.db.knex('device_secrets').where({ device_id }).orderBy('id').pluck('kind');

describe('who enrolls with what a stranger can know', () => {
  it.each([
    ['the UDID', (udid: string) => udid, () => newSerial()],
    ['the serial number', () => newUdid(), (serial: string) => serial],
    ['both', (udid: string) => udid, (serial: string) => serial],
  ])('by %s gets nothing of the former owner', async (_what, udidOf, serialOf) => {
    const serial = newSerial();
    const device = await createTestDevice(app);
    const id = await owner(device, serial);
    const stranger = device.as({ UDID: udidOf(device.udid) }).with(await newIdentity());
    await stranger.enroll({ SerialNumber: serialOf(serial) });
    expect(await rowOf(stranger)).toMatchObject({ id, enrollment_number: 2, escrow_since: 2 });
    expect(await bootstrapTokenFor(stranger)).toBeUndefined();
    const reply = await clearPasscode(id);
    expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'no_unlock_token']);
    expect(await secretsOf(id)).toEqual(['unlock_token', 'bootstrap_token']);
  });

  it('also by the same certificate after a CheckOut', async () => {
    const device = await createTestDevice(app);
    await owner(device, newSerial());
    await device.checkOut();
    await device.enroll();
    expect(await bootstrapTokenFor(device)).toBeUndefined();
  });

  it('also where a signature binds the enrollment, but to another serial number', async () => {
    const device = await createTestDevice(app);
    const id = await owner(device, newSerial());
    const [udid, serial] = [device.udid, newSerial()];
    const other = await bound(udid, serial);
    await other.enroll({ SerialNumber: serial });
    expect(await rowOf(other)).toMatchObject({ id, escrow_since: 2 });
    expect(await bootstrapTokenFor(other)).toBeUndefined();
  });

  it('also where the signature answers nobody, and could be an old one', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    await owner(device, serial);
    const { udid } = device;
    const request = { method: 'profile', udid, serial_number: serial } as const;
    const requestId = await addRequest(app, signedRequest(request));
    const other = await certifiedFor(app, { requestId }, { UDID: udid });
    await other.enroll({ SerialNumber: serial });
    expect(await bootstrapTokenFor(other)).toBeUndefined();
  });

  it('also where only an account vouches for it', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    await owner(device, serial);
    const { udid } = device;
    const request = { method: 'account_device', udid, serial_number: serial } as const;
    const requestId = await addRequest(app, signedRequest(request));
    const other = await certifiedFor(app, { requestId }, { UDID: udid });
    await other.enroll({ SerialNumber: serial });
    expect(await bootstrapTokenFor(other)).toBeUndefined();
  });
});

describe('the same device, whose signature binds it to its serial number', () => {
  it('gets its tokens back, and an admin can use them', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    const id = await owner(device, serial);
    const back = await bound(device.udid, serial);
    await back.enroll({ SerialNumber: serial });
    expect(await rowOf(back)).toMatchObject({ id, enrollment_number: 2, escrow_since: 1 });
    expect(await bootstrapTokenFor(back)).toEqual(BootstrapToken);
    expect((await clearPasscode(id)).status).toBe(201);
  });

  it('gets them with a new UDID, too', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    await owner(device, serial);
    const back = await bound(newUdid(), serial);
    await back.enroll({ SerialNumber: serial });
    expect(await bootstrapTokenFor(back)).toEqual(BootstrapToken);
  });

  it('gets none of those from before a stranger came', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    await owner(device, serial);
    await device.with(await newIdentity()).enroll({ SerialNumber: serial });
    const back = await bound(device.udid, serial);
    await back.enroll({ SerialNumber: serial });
    expect(await rowOf(back)).toMatchObject({ enrollment_number: 3, escrow_since: 2 });
    expect(await bootstrapTokenFor(back)).toBeUndefined();
  });
});
