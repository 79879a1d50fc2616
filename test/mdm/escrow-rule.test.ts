import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { findCurrentSecret, type SecretKind } from '../../src/db/devices/device-secrets.js';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';
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

const { rowOf, newIdentity } = recordsOf(() => app);

/** Gives both tokens to the server, and enrolls before. Returns the id of the record. */
async function escrow(device: TestDevice, SerialNumber: string, whose: string): Promise<number> {
  const UnlockToken = Buffer.from(`unlock token of ${whose}`);
  await device.enroll({ SerialNumber }, { UnlockToken });
  const BootstrapToken = Buffer.from(`bootstrap token of ${whose}`);
  expectEmpty(await device.checkIn('SetBootstrapToken', { BootstrapToken }));
  return (await rowOf(device)).id;
}

/** A certificate that Apple's signature binds to this device. */
async function proven(udid: string, serial: string, overrides = {}): Promise<TestDevice> {
  const ids = { udid, serial_number: serial };
  const requestId = await addRequest(app, signedRequest({ ...ids, ...overrides }));
  return await certifiedFor(app, { requestId }, { UDID: udid });
}

/** Proven and enrolled, with both tokens stored on the server. */
async function owned() {
  const serial = newSerial();
  const device = await proven(newUdid(), serial);
  return { device, serial, udid: device.udid, id: await escrow(device, serial, 'the owner') };
}

async function bootstrapTokenFor(device: TestDevice): Promise<string | undefined> {
  const reply = await device.checkIn('GetBootstrapToken');
  expect(reply.status).toBe(200);
  const { BootstrapToken } = reply.body.length === 0 ? {} : parsePlistDict(reply.body);
  return BootstrapToken === undefined ? undefined : String(BootstrapToken);
}

/** What the server itself would use. */
async function currentOf(deviceId: number, kind: SecretKind): Promise<string | undefined> {
  const key = { deviceId, kind };
  const sealed = await inTransaction(app.db, (trx) => findCurrentSecret(trx, key));
  return sealed && app.box.open(sealed, `devices/${deviceId}/${kind}`).toString();
}

/** Those that the API says are the current ones, by the enrollment that sent them. */
async function shownAsCurrent(id: number): Promise<[string, number][]> {
  const { body } = await adminApi(app).get(`/devices/${id}/secrets?sort=id`);
  return body.data
    .filter(({ attributes }: { attributes: { is_current: boolean } }) => attributes.is_current)
    .map(({ attributes }: { attributes: { kind: string; enrollment_number: number } }) => [
      attributes.kind,
      attributes.enrollment_number,
    ]);
}

const clearPasscode = (id: number) => adminApi(app).post(`/devices/${id}/clear_passcode`);
const secretsOf = (device_id: number) =>
  app.db.knex('device_secrets').where({ device_id }).orderBy('id').pluck('kind');

async function expectNothingFor(device: TestDevice, id: number) {
  expect(await rowOf(device)).toMatchObject({ id, is_enrolled: true });
  expect(await bootstrapTokenFor(device)).toBeUndefined();
  const reply = await clearPasscode(id);
  expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'no_unlock_token']);
  expect(await shownAsCurrent(id)).toEqual([]);
  expect(await secretsOf(id)).toEqual(['unlock_token', 'bootstrap_token']);
}

describe('a device that enrolls with what an outsider can know', () => {
  it.each([
    ['the UDID', () => newSerial()],
    ['both', (serial: string) => serial],
  ])('gets no secret of the former owner by %s', async (_what, serialOf) => {
    const { device, serial, id } = await owned();
    const outsider = device.with(await newIdentity());
    await outsider.enroll({ SerialNumber: serialOf(serial) });
    expect(await rowOf(outsider)).toMatchObject({ enrollment_number: 2, proven_serial: null });
    await expectNothingFor(outsider, id);
  });

  it('gets no secret by the serial number after the owner has left', async () => {
    const { device, serial, id } = await owned();
    expectEmpty(await device.checkOut());
    const outsider = device.as({ UDID: newUdid() }).with(await newIdentity());
    await outsider.enroll({ SerialNumber: serial });
    expect(await rowOf(outsider)).toMatchObject({ enrollment_number: 2, proven_serial: null });
    await expectNothingFor(outsider, id);
  });

  it('gets no secret by the same certificate after a CheckOut, even if nobody had proven anything', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    const id = await escrow(device, serial, 'the owner');
    await device.checkOut();
    await device.enroll({ SerialNumber: serial });
    await expectNothingFor(device, id);
  });

  it('gets no secret by a signature for another serial number', async () => {
    const { udid, id } = await owned();
    const serial = newSerial();
    const other = await proven(udid, serial);
    await other.enroll({ SerialNumber: serial });
    expect(await rowOf(other)).toMatchObject({ proven_serial: serial });
    await expectNothingFor(other, id);
  });

  it.each([
    ['the signature answers nobody, and could be an old one', { method: 'profile' }],
    ['it is identified by an account only', { method: 'account_device' }],
    ['nobody has signed', { method: 'automated', signer: null }],
  ])('gets no secret if %s', async (_what, request) => {
    const { udid, serial, id } = await owned();
    const other = await proven(udid, serial, request);
    await other.enroll({ SerialNumber: serial });
    expect(await rowOf(other)).toMatchObject({ proven_serial: null });
    await expectNothingFor(other, id);
  });

  it('tokens of another enrollment are shown to admins only', async () => {
    const [device, serial] = [await createTestDevice(app), newSerial()];
    const id = await escrow(device, serial, 'the owner');
    const back = await proven(device.udid, serial);
    await back.enroll({ SerialNumber: serial });
    expect(await rowOf(back)).toMatchObject({ proven_serial: serial });
    await expectNothingFor(back, id);
  });
});

describe('the same device, whose signature binds it to its serial number', () => {
  it('gets its tokens back, and an admin can use them', async () => {
    const { udid, serial, id } = await owned();
    const back = await proven(udid, serial.toLowerCase(), { method: 'ota' });
    await back.enroll({ SerialNumber: serial });
    expect(await rowOf(back)).toMatchObject({
      id,
      enrollment_number: 2,
      proven_serial: serial.toLowerCase(),
    });
    const logged = app.logLines.length;
    expect(await bootstrapTokenFor(back)).toBe('bootstrap token of the owner');
    expect(app.logLines.slice(logged)).toContainEqual(
      expect.objectContaining({
        deviceId: id,
        msg: 'a device fetched the bootstrap token of its former enrollment',
      }),
    );
    expect((await clearPasscode(id)).status).toBe(201);
    expect(await shownAsCurrent(id)).toEqual([
      ['unlock_token', 1],
      ['bootstrap_token', 1],
    ]);
  });

  it('gets them with a new UDID, too', async () => {
    const { serial } = await owned();
    const back = await proven(newUdid(), serial);
    await back.enroll({ SerialNumber: serial });
    expect(await bootstrapTokenFor(back)).toBe('bootstrap token of the owner');
  });

  it('fetches the token of its present enrollment, and nothing is logged', async () => {
    const { device, id } = await owned();
    const logged = app.logLines.length;
    expect(await bootstrapTokenFor(device)).toBe('bootstrap token of the owner');
    expect(JSON.stringify(app.logLines.slice(logged))).not.toContain('former enrollment');
    expect(await shownAsCurrent(id)).toHaveLength(2);
  });

  it('fetches its own token after an outsider enrolled without one', async () => {
    const { device, udid, serial } = await owned();
    const outsider = device.with(await newIdentity());
    await outsider.enroll({ SerialNumber: serial });
    expectEmpty(await outsider.checkIn('SetBootstrapToken'));
    const back = await proven(udid, serial);
    await back.enroll({ SerialNumber: serial });
    expect(await bootstrapTokenFor(back)).toBe('bootstrap token of the owner');
  });

  it('fetches its own token after an outsider escrowed another, and never that one', async () => {
    const { device, udid, serial, id } = await owned();
    const outsider = device.with(await newIdentity());
    await escrow(outsider, serial, 'the outsider');
    expect(await bootstrapTokenFor(outsider)).toBe('bootstrap token of the outsider');
    const back = await proven(udid, serial);
    await back.enroll({ SerialNumber: serial });
    expect(await rowOf(back)).toMatchObject({ id, enrollment_number: 3, proven_serial: serial });
    expect(await bootstrapTokenFor(back)).toBe('bootstrap token of the owner');
    expect(await currentOf(id, 'unlock_token')).toBe('unlock token of the owner');
    expect(await shownAsCurrent(id)).toEqual([
      ['unlock_token', 1],
      ['bootstrap_token', 1],
    ]);
    expectEmpty(await back.checkIn('SetBootstrapToken'));
    expect(await bootstrapTokenFor(back)).toBeUndefined();
    expect(await currentOf(id, 'bootstrap_token')).toBeUndefined();
  });

  it('is still proven when its certificate is renewed', async () => {
    const { device, serial, id } = await owned();
    const renewed = device.with(await newIdentity());
    const { fingerprint } = renewed.certificate;
    const pin = { fingerprint, device_id: id, state: 'renewal', udid: device.udid };
    await app.db.knex('device_identities').insert(pin);
    expectEmpty(await renewed.authenticate({ SerialNumber: serial }));
    expect(await rowOf(renewed)).toMatchObject({ proven_serial: serial, enrollment_number: 1 });
    expect(await bootstrapTokenFor(renewed)).toBe('bootstrap token of the owner');
  });
});
