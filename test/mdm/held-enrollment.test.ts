import { createToken } from '../../src/auth/api-tokens.js';
import { eventually } from '../e2e/admin-client.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
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

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false, env: { REPLACE_ENROLLED: 'hold' } });
});
afterAll(() => app.stop());
beforeEach(async () => {
  app.logLines.length = 0;
  for (const table of ['devices', 'enrollment_requests']) await app.db.knex(table).delete();
});

const { rowOf, newIdentity, commandsOf, pinOf } = recordsOf(() => app);
const WARNING = 'an enrolled device wants to enroll again without proof';

const enrolled = async (facts: Fields = {}) => (await createTestDevice(app)).enroll(facts);
const requests = () => app.db.knex('enrollment_requests').orderBy('id');
const approve = (id: number) => adminApi(app).post(`/enrollment_requests/${id}/approve`);

async function lockedStatements(): Promise<number> {
  const { rows } = await app.db.pool.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%input as (%'
      and datname = current_database()`,
  );
  return rows.length;
}

async function heldId(): Promise<number> {
  const [row, ...others] = await requests();
  expect(others).toEqual([]);
  return row.id;
}

/** Refused without Apple's body, with nothing changed but the request. */
async function expectHeld(attempt: TestDevice, owner: TestDevice, facts: Fields = {}) {
  const before = [await rowOf(owner), await commandsOf(owner), await pinOf(owner)];
  expectPlainRefusal(await attempt.authenticate(facts));
  expect([await rowOf(owner), await commandsOf(owner), await pinOf(owner)]).toEqual(before);
  expect(await pinOf(attempt)).toBeUndefined();
}

describe('with REPLACE_ENROLLED=hold, a new certificate that names an enrolled device', () => {
  it('is refused with a plain 403, and the device stays enrolled', async () => {
    const owner = await enrolled();
    const attacker = owner.with(await newIdentity());
    await expectHeld(attacker, owner);
    expectPlainRefusal(await attacker.tokenUpdate());
    expectPlainRefusal(await attacker.idle());
    expect(commandIn(await owner.idle())?.command.RequestType).toBe('DeviceInformation');
    expectEmpty(await owner.authenticate());
  });

  it('shows as an enrollment request with all that an admin needs to decide', async () => {
    const owner = await enrolled({ SerialNumber: newSerial() });
    const attempt = owner.with(await newIdentity());
    const serial_number = (await rowOf(owner)).serial_number;
    await expectHeld(attempt, owner, { SerialNumber: serial_number, OSVersion: '26.1' });
    const { id: deviceId } = await rowOf(owner);
    const { body } = await adminApi(app).get(`/devices/${deviceId}/enrollment_requests`);
    expect(body.data).toHaveLength(1);
    const { attributes, relationships } = body.data[0];
    expect(attributes).toMatchObject({
      state: 'held',
      method: 'profile',
      udid: owner.udid,
      serial_number,
      os_version: '26.1',
      product_name: 'iPhone14,5',
      attempts: 1,
      approved_at: null,
      fingerprint_sha256: attempt.certificate.fingerprint.toString('hex'),
    });
    expect(Date.parse(attributes.expires_at)).toBeGreaterThan(Date.now() + 6 * 86_400_000);
    expect(relationships.device.data).toEqual({ type: 'devices', id: deviceId });
    const requestId = body.data[0].id;
    expect(app.logLines.filter(({ msg }) => msg === WARNING)).toMatchObject([
      { level: 40, deviceId, requestId },
    ]);
    expect(app.logText()).toContain(`POST /api/v1/enrollment_requests/${requestId}/approve`);
    const filter = '[{"name":"held_at","op":"isnot","val":null}]';
    const found = await adminApi(app).get(`/enrollment_requests?filter=${filter}`).expect(200);
    expect(found.body.data).toHaveLength(1);
  });

  it('is held when the serial number alone matches the device', async () => {
    const serial = newSerial();
    const owner = await enrolled({ SerialNumber: serial });
    await expectHeld(await createTestDevice(app), owner, { SerialNumber: serial });
  });

  it('is held when it has the UDID of one device and the serial number of another', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const first = await enrolled({ SerialNumber: serial });
    const second = await enrolled({ SerialNumber: otherSerial });
    const attempt = first.with(await newIdentity());
    const before = await rowOf(second);
    await expectHeld(attempt, first, { SerialNumber: otherSerial });
    expect(await rowOf(second)).toEqual(before);
  });

  it('is held when only the device that would lose its UDID is enrolled', async () => {
    const serial = newSerial();
    const owner = await enrolled({ SerialNumber: newSerial() });
    await app.db.knex('devices').insert({ serial_number: serial, enrollment_state: 'dep' });
    await expectHeld(owner.with(await newIdentity()), owner, { SerialNumber: serial });
    expect((await requests())[0].device_id).toBe((await rowOf(owner)).id);
  });

  it('is held where its account is not the one of the device', async () => {
    const own = { method: 'account_device', account: 'ada@example.com' } as const;
    const ids = { UDID: newUdid() };
    const first = await addRequest(app, signedRequest(own));
    const owner = await (await certifiedFor(app, { requestId: first }, ids)).enroll();
    const other = signedRequest({ ...own, account: 'eve@example.com' });
    const requestId = await addRequest(app, other);
    await expectHeld(await certifiedFor(app, { requestId }, ids), owner);
  });

  it('is held where its request was signed in one step: that could be an old signature', async () => {
    const owner = await enrolled();
    const requestId = await addRequest(app, signedRequest({ method: 'profile' }));
    await expectHeld(await certifiedFor(app, { requestId }, { UDID: owner.udid }), owner);
  });

  it('is counted in one row, however often it tries', async () => {
    const owner = await enrolled();
    const attempt = owner.with(await newIdentity());
    for (let time = 0; time < 4; time += 1) await expectHeld(attempt, owner);
    const rows = await requests();
    expect(rows).toMatchObject([{ attempts: 4 }]);
    expect(rows[0].last_attempt_at > rows[0].held_at).toBe(true);
    expect(app.logLines.filter(({ msg }) => msg === WARNING)).toHaveLength(1);
  });

  it('makes at most twenty rows for a device, and those of its own UDID stay the longest', async () => {
    const serial = newSerial();
    const owner = await enrolled({ SerialNumber: serial });
    await expectHeld(owner.with(await newIdentity()), owner);
    const kept = await heldId();
    for (let count = 0; count < 23; count += 1) {
      const attempt = await createTestDevice(app);
      expectPlainRefusal(await attempt.authenticate({ SerialNumber: serial }));
    }
    const rows = await requests();
    expect(rows).toHaveLength(20);
    expect(rows[0].id).toBe(kept);
  });
});

describe('REPLACE_ENROLLED=hold does not hold an enrollment', () => {
  it('of a device that is new', async () => {
    await enrolled();
    expect(await requests()).toEqual([]);
  });

  it('of a device that uses its own certificate, or a renewed one', async () => {
    const owner = await enrolled();
    expectEmpty(await owner.authenticate());
    const renewed = owner.with(await newIdentity());
    const { id } = await rowOf(owner);
    const { fingerprint } = renewed.certificate;
    const pin = { fingerprint, device_id: id, state: 'renewal', udid: owner.udid };
    await app.db.knex('device_identities').insert(pin);
    expectEmpty(await renewed.authenticate());
    expect(await requests()).toEqual([]);
  });

  it('after a CheckOut', async () => {
    const owner = await enrolled();
    expectEmpty(await owner.checkOut());
    await owner.with(await newIdentity()).enroll();
    expect(await rowOf(owner)).toMatchObject({ is_enrolled: true, enrollment_number: 2 });
  });

  it('after an Authenticate that no TokenUpdate followed', async () => {
    const owner = await createTestDevice(app);
    expectEmpty(await owner.authenticate());
    await owner.with(await newIdentity()).enroll();
  });

  it('after an EraseDevice that the device has acknowledged, and only in that enrollment', async () => {
    const owner = await enrolled();
    const { id } = await rowOf(owner);
    const erased = (facts: object) =>
      app.db.knex('commands').insert({
        device_id: id,
        request_type: 'EraseDevice',
        payload: Buffer.from('x'),
        uuid: newUdid(),
        ...facts,
      });
    await erased({ status: 'Error', acknowledged_at: new Date() });
    await erased({ status: 'Acknowledged', acknowledged_at: new Date(Date.now() - 86_400_000) });
    await expectHeld(owner.with(await newIdentity()), owner);
    await erased({ status: 'Acknowledged', acknowledged_at: new Date() });
    const again = await owner.with(await newIdentity()).enroll();
    expect(await rowOf(again)).toMatchObject({ id, enrollment_number: 2 });
    await expectHeld(again.with(await newIdentity()), again);
  });

  it('with a link', async () => {
    const owner = await enrolled();
    const linkId = await addLink(app);
    const again = await certifiedFor(app, { linkId }, { UDID: owner.udid });
    expect(await rowOf(await again.enroll())).toMatchObject({ enrollment_number: 2 });
  });

  it.each(['automated', 'ota'] as const)('with the proof of %s enrollment', async (method) => {
    const owner = await enrolled();
    const requestId = await addRequest(app, signedRequest({ method, udid: owner.udid }));
    const again = await certifiedFor(app, { requestId }, { UDID: owner.udid });
    expect(await rowOf(await again.enroll())).toMatchObject({ enrollment_number: 2 });
  });

  it('with the account that the device is enrolled with', async () => {
    const account = { method: 'account_device', account: 'Ada@example.com' } as const;
    const ids = { UDID: newUdid() };
    for (const spelled of ['ada@example.com', 'ADA@EXAMPLE.COM']) {
      const requestId = await addRequest(app, signedRequest({ ...account, account: spelled }));
      await (await certifiedFor(app, { requestId }, ids)).enroll();
    }
    const held = await app.db.knex('enrollment_requests').whereNotNull('held_at');
    expect(held).toEqual([]);
  });
});

describe('an approval', () => {
  it('lets the UDID enroll with any certificate, is used up by the enrollment, and is audited', async () => {
    const owner = await enrolled();
    await expectHeld(owner.with(await newIdentity()), owner);
    const id = await heldId();
    const { body } = await approve(id).expect(200);
    expect(body.data).toMatchObject({ type: 'enrollment_requests', id });
    expect(body.data.attributes).toMatchObject({ state: 'approved', udid: owner.udid });
    const { approved_at, expires_at } = body.data.attributes;
    expect(Date.parse(expires_at) - Date.parse(approved_at)).toBe(24 * 3_600_000);
    const again = await owner.with(await newIdentity()).enroll();
    const { id: deviceId } = await rowOf(again);
    expect(await rowOf(again)).toMatchObject({ enrollment_number: 2, is_enrolled: true });
    const [used] = await requests();
    expect(used).toMatchObject({ id, enrolled_at: expect.any(Date), device_id: deviceId });
    const events = app.db.knex('audit_events').where({ action: 'enrollment_requests.approve' });
    expect(await events.clone().where({ target_id: String(id) })).toMatchObject([
      {
        outcome: 'success',
        target_type: 'enrollment_requests',
        role: 'admin',
        details: { udid: owner.udid, device_id: deviceId, until: expires_at },
      },
    ]);
    const replaced = app.db.knex('audit_events').where({ action: 'devices.enrollment_replaced' });
    expect(await replaced.where({ target_id: String(deviceId) })).toHaveLength(1);
    await expectHeld(again.with(await newIdentity()), again);
  });

  it('lets it enroll into the record that was shown, and into no other', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const owner = await enrolled({ SerialNumber: serial });
    const other = await enrolled({ SerialNumber: otherSerial });
    await expectHeld(owner.with(await newIdentity()), owner);
    await approve(await heldId()).expect(200);
    await expectHeld(owner.with(await newIdentity()), other, { SerialNumber: otherSerial });
    expect((await requests()).map(({ device_id }) => device_id)).toEqual([
      (await rowOf(owner)).id,
      (await rowOf(other)).id,
    ]);
  });

  it('moves a UDID to the record of the serial number, once it is approved', async () => {
    const [serial, otherSerial] = [newSerial(), newSerial()];
    const first = await enrolled({ SerialNumber: serial });
    const { id: firstId } = await rowOf(first);
    const { id: secondId } = await rowOf(await enrolled({ SerialNumber: otherSerial }));
    const attempt = first.with(await newIdentity());
    await expectHeld(attempt, first, { SerialNumber: otherSerial });
    await approve(await heldId()).expect(200);
    await attempt.enroll({ SerialNumber: otherSerial });
    expect(await rowOf(attempt)).toMatchObject({ id: secondId, enrollment_number: 2 });
    const left = await app.db.knex('devices').where({ id: firstId }).first();
    expect(left).toMatchObject({ udid: null, enrollment_state: 'unenrolled' });
  });

  it('an approval expires after 24 hours; the next attempt can be approved anew', async () => {
    const owner = await enrolled();
    const attempt = owner.with(await newIdentity());
    await expectHeld(attempt, owner);
    const id = await heldId();
    await approve(id).expect(200);
    await app.db.knex('enrollment_requests').update({ expires_at: new Date(Date.now() - 1_000) });
    expect((await approve(id)).body.errors[0].detail).toContain('expired');
    await expectHeld(attempt, owner);
    const { body } = await approve(id).expect(200);
    expect(body.data.attributes).toMatchObject({ state: 'approved', attempts: 2 });
    await attempt.enroll();
  });

  it.each<[string, object, string]>([
    [
      'was approved before',
      { held_at: new Date(), approved_at: new Date() },
      'was approved before',
    ],
    ['has expired', { held_at: new Date(), expires_at: new Date(0) }, 'expired'],
    ['has led to an enrollment', { held_at: new Date(), enrolled_at: new Date() }, 'has led to'],
    ['was never held', {}, 'needs no approval'],
  ])('is refused with 409 for a request that %s', async (_what, columns, detail) => {
    const expires_at = new Date(Date.now() + 60_000);
    const row = { method: 'profile', udid: 'U', expires_at, ...columns };
    const [{ id }] = await app.db.knex('enrollment_requests').insert(row, 'id');
    const { status, body } = await approve(id);
    expect([status, body.errors[0].code]).toEqual([409, 'conflict']);
    expect(body.errors[0].detail).toContain(detail);
    expect(await app.db.knex('enrollment_requests').where({ id }).first()).toMatchObject(columns);
  });

  it('is refused with 404 for a request that does not exist', async () => {
    expect((await approve(987_654)).body.errors[0]).toMatchObject({ status: '404' });
  });

  it('is refused to viewers and operators', async () => {
    const owner = await enrolled();
    await expectHeld(owner.with(await newIdentity()), owner);
    const id = await heldId();
    const actor = { name: 'test', role: 'admin' as const };
    const context = { requestId: 'test', actor, sourceAddress: null };
    for (const role of ['viewer', 'operator'] as const) {
      const { token } = await createToken(app.db, { name: role, role }, context);
      const refused = await adminApi(app, token).post(`/enrollment_requests/${id}/approve`);
      expect([role, refused.status]).toEqual([role, 403]);
    }
    expect((await requests())[0]).toMatchObject({ approved_at: null });
  });

  it('is not used by a second process at the same moment: it answers 503, and the device asks again', async () => {
    const owner = await enrolled();
    await expectHeld(owner.with(await newIdentity()), owner);
    const id = await heldId();
    await approve(id).expect(200);
    const attempt = owner.with(await newIdentity());
    const answer = await app.db.knex.transaction(async (trx) => {
      await trx('enrollment_requests').where({ id }).update({ enrolled_at: trx.fn.now() });
      const waiting = attempt.authenticate();
      await eventually(lockedStatements, (count) => count > 0);
      return { waiting };
    });
    expect((await answer.waiting).status).toBe(503);
    expect(await rowOf(owner)).toMatchObject({ enrollment_number: 1, is_enrolled: true });
    await expectHeld(attempt, owner);
  });
});
