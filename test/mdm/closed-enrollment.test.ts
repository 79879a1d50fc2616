import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { expectEmpty, expectPlainRefusal } from './conversation.js';
import { recordsOf } from './records.js';
import { addRequest, certifiedFor, newSerial, newUdid, signedRequest } from './request-fixture.js';
import { dumpRows } from './rows.js';

let open: TestApp;
let closed: TestApp;

beforeAll(async () => {
  open = await startApp({ isSweeping: false });
  const { database } = open;
  closed = await startApp({ isSweeping: false, database, env: { ENROLLMENT: 'closed' } });
});
afterAll(async () => {
  await closed.halt();
  await open.stop();
});

const { rowOf, newIdentity, pinOf } = recordsOf(() => open);

/** The same device, which talks to the server that lets nobody in any more. */
async function atClosed({ certificate, ids }: TestDevice): Promise<TestDevice> {
  return (await createTestDevice(closed, ids)).with(certificate);
}

async function expectClosed(device: TestDevice, facts = {}) {
  const [before, logged] = [await dumpRows(open.db), closed.logLines.length];
  expectPlainRefusal(await (await atClosed(device)).authenticate(facts));
  expect(await dumpRows(open.db)).toEqual(before);
  expect(JSON.stringify(closed.logLines.slice(logged))).toContain('enrollment is closed');
}

describe('where enrollment is closed, no Authenticate enrolls', () => {
  it('an unknown device', async () => {
    await expectClosed(await createTestDevice(open));
  });

  it('a known device with a new certificate', async () => {
    const device = await (await createTestDevice(open)).enroll();
    await expectClosed(device.with(await newIdentity()));
  });

  it('a device that Apple’s certificate has proven', async () => {
    const [udid, serial_number] = [newUdid(), newSerial()];
    const requestId = await addRequest(open, signedRequest({ udid, serial_number }));
    const device = await certifiedFor(open, { requestId }, { UDID: udid });
    await expectClosed(device, { SerialNumber: serial_number });
  });

  it('a device that has left, with its old certificate', async () => {
    const device = await (await createTestDevice(open)).enroll();
    expectEmpty(await device.checkOut());
    await expectClosed(device);
  });

  it('a device that was deleted, with its old certificate', async () => {
    const device = await (await createTestDevice(open)).enroll();
    const { id } = await rowOf(device);
    expect((await adminApi(open).delete(`/devices/${id}`)).status).toBe(204);
    await expectClosed(device);
  });

  it('a logic board that moved to another device', async () => {
    const [from, to] = [newSerial(), newSerial()];
    const device = await (await createTestDevice(open)).enroll({ SerialNumber: from });
    await (await createTestDevice(open)).enroll({ SerialNumber: to });
    await expectClosed(device.with(await newIdentity()), { SerialNumber: to });
  });
});

describe('where enrollment is closed, a device continues its enrollment', () => {
  it('with the same certificate, which resets nothing', async () => {
    const device = await (await createTestDevice(open)).enroll();
    const { id } = await rowOf(device);
    const commands = await open.db.knex('commands').where({ device_id: id });
    expectEmpty(await (await atClosed(device)).authenticate());
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true, enrollment_number: 1 });
    expect(await open.db.knex('commands').where({ device_id: id })).toEqual(commands);
  });

  it('with its renewed certificate', async () => {
    const old = await (await createTestDevice(open)).enroll();
    const device = old.with(await newIdentity());
    const { id } = await rowOf(old);
    const { fingerprint } = device.certificate;
    const pin = { fingerprint, device_id: id, state: 'renewal', udid: old.udid };
    await open.db.knex('device_identities').insert(pin);
    expectEmpty(await (await atClosed(device)).authenticate());
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true, enrollment_number: 1 });
  });

  it('with its TokenUpdate, if its Authenticate was accepted before', async () => {
    const device = await createTestDevice(open);
    expectEmpty(await device.authenticate());
    expectEmpty(await (await atClosed(device)).tokenUpdate());
    expect(await rowOf(device)).toMatchObject({ is_enrolled: true, enrollment_number: 1 });
  });
});
