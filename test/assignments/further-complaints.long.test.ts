import { buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { buildPlistNodes } from '../../src/protocol/plist/plist.js';
import { uploadFile, uploadNodes } from '../api/profile-samples.js';
import { rsaIdentity } from '../crypto/identities.js';
import { askForIdentity, fetchCommand, profileIn, runRenewals } from '../enroll/renewal-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { payload, profile } from '../profiles/sample-profiles.js';
import { addProfile, failed, itemsOf, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

/** More of what administrators of other servers have complained of, each by its subject. */

const IPAD = { Model: 'MY252LL', ModelName: 'iPad', ProductName: 'iPad13,1' };

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'device_groups']) await app.db.knex(table).delete();
  await reconciler.run();
});

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

async function enrolled(facts: Fields = {}): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app, facts);
  await device.poll();
  await reconcile();
  return device;
}

/** The device polls until it has nothing more to do. Returns what it was sent. */
async function carriedOut(device: ManagedDevice): Promise<string[]> {
  device.carriedOut.length = 0;
  for (let round = 0; round < 4; round += 1) {
    await reconcile();
    await device.poll();
  }
  await reconcile();
  return device.carriedOut;
}

async function assignToAll(): Promise<number> {
  const { id } = await addProfile(app);
  await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
  return id;
}

async function refuseUntilFailed(devices: ManagedDevice[]): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await reconcile();
    for (const device of devices) await device.poll(() => failed('No.'));
    await reconcile();
    await app.db
      .knex('device_items')
      .whereIn(
        'device_id',
        devices.map(({ id }) => id),
      )
      .update({ next_attempt_at: new Date(0) });
    await app.db
      .knex('reconcile_marks')
      .insert(devices.map(({ id: device_id }) => ({ device_id })));
  }
  await reconcile();
  for (const device of devices) {
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'failed' }]);
  }
}

describe('the profile that enrolled a device', () => {
  it('is a conflict with another one of its identifier, and is never replaced nor removed', async () => {
    const device = await enrolled();
    const { id, identifier } = await addProfile(app);
    const { knex } = app.db;
    const listed = { device_id: device.id, payload_identifier: identifier.toUpperCase() };
    const [row] = await knex('installed_profiles').insert({ ...listed, is_managed: true }, 'id');
    const installed_profile_id = row.id;
    await knex('installed_payloads').insert({
      installed_profile_id,
      payload_type: 'com.apple.mdm',
    });
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toMatchObject([
      { state: 'conflict', reason_code: 'enrollment_profile' },
    ]);
    await knex('assignments').delete();
    expect(await carriedOut(device)).toEqual([]);
    expect(await itemsOf(app, device)).toEqual([]);
  });

  it('is not replaced by a later version of an assigned profile that would enroll it', async () => {
    const device = await enrolled();
    const named = { PayloadIdentifier: 'com.example.enrolling' };
    const { id } = await addProfile(app, named);
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
    expect(await carriedOut(device)).toContain('InstallProfile');
    const mdm = payload('com.apple.mdm', {
      AccessRights: 8191n,
      IdentityCertificateUUID: '6E1C9B52-4D4B-4B1C-8E5D-2F2A6C0B7D11',
      ServerURL: 'https://other.example.com/mdm',
      Topic: 'com.apple.mgmt.External.other',
    });
    const { status } = await uploadNodes(app, profile([mdm], named));
    expect(status).toBe(201);
    expect(await carriedOut(device)).not.toContain('InstallProfile');
    const reason =
      'version 2 has a payload com.apple.mdm, which would replace the enrollment of the device; upload it without';
    expect(await app.db.knex('device_items').where({ device_id: device.id })).toMatchObject([
      { state: 'conflict', reason_code: 'enrollment_profile', reason },
    ]);
    await addProfile(app, named, 'Guests');
    expect(await carriedOut(device)).toContain('InstallProfile');
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified', version: 3 }]);
  });
});

describe('a signed upload', () => {
  it('is sent to the device byte for byte, and is verified by its own PayloadUUID', async () => {
    const device = await enrolled();
    const content = buildPlistNodes(profile([payload('com.apple.wifi.managed')]));
    const signed = buildSignedData({ content, signer: await rsaIdentity() });
    const { status, body } = await uploadFile(app, signed);
    expect(status).toBe(201);
    await app.db.knex('assignments').insert({ profile_id: body.data.id, all_devices: true });
    await reconcile();
    const delivered: unknown[] = [];
    await device.poll((command) => {
      if (command.RequestType === 'InstallProfile') delivered.push(command.Payload);
      return command.RequestType === 'InstallProfile' ? { status: 'Acknowledged' } : undefined;
    });
    expect(delivered).toEqual([signed]);
    const { identifier, uuid } = body.data.attributes;
    device.profiles.set(identifier, { PayloadIdentifier: identifier, PayloadUUID: uuid });
    expect(await carriedOut(device)).toEqual(['ProfileList']);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
  });
});

describe('a profile that has failed on many devices', () => {
  it('is sent to all of them again with one request, and not to those that have it', async () => {
    const good = await enrolled();
    const id = await assignToAll();
    await carriedOut(good);
    const bad = [await enrolled(), await enrolled(), await enrolled()];
    await refuseUntilFailed(bad);
    const filter = [{ name: 'profile', op: 'eq', val: id }];
    const { status, body } = await api.post('/device_items/retry', { filter });
    expect([status, body.data.attributes]).toEqual([200, { retried: 3, has_more: false }]);
    for (const device of bad) {
      expect(await carriedOut(device)).toEqual(['InstallProfile', 'ProfileList']);
      expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
    }
    expect(await carriedOut(good)).toEqual([]);
  });
});

describe('a profile that has failed on an iPad', () => {
  it('is sent again on request, as on a Mac', async () => {
    const device = await enrolled(IPAD);
    await assignToAll();
    await refuseUntilFailed([device]);
    const [{ id }] = await app.db.knex('device_items').select('id');
    expect((await api.post(`/device_items/${id}/retry`)).status).toBe(200);
    expect(await carriedOut(device)).toEqual(['InstallProfile', 'ProfileList']);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
  });
});

describe('the renewal of an identity by SCEP', () => {
  it('with its Authenticate keeps the bootstrap token and every item', async () => {
    const device = await enrolled();
    await assignToAll();
    await carriedOut(device);
    const before = await app.db.knex('device_items').select();
    expect(before).toMatchObject([{ state: 'verified' }]);
    const BootstrapToken = Buffer.from('of this enrollment');
    await device.wire.checkIn('SetBootstrapToken', { BootstrapToken });
    await app.db
      .knex('device_identities')
      .where({ fingerprint: device.wire.certificate.fingerprint })
      .update({ renew_at: new Date(0) });
    await runRenewals(app);
    const offered = await fetchCommand(device.wire, 'InstallProfile');
    const renewed = device.wire.with(await askForIdentity(app, profileIn(offered?.command ?? {})));
    expect((await renewed.authenticate()).status).toBe(200);
    expect((await renewed.tokenUpdate()).status).toBe(200);
    await renewed.report(offered?.uuid ?? '');
    await reconcile();
    const token = await renewed.checkIn('GetBootstrapToken');
    expect(token.body.toString()).toContain(BootstrapToken.toString('base64'));
    expect(await app.db.knex('device_items').select()).toEqual(before);
    const waiting = app.db.knex('commands').where({ is_pending: true });
    expect(await waiting.whereIn('request_type', ['InstallProfile', 'RemoveProfile'])).toEqual([]);
  });
});

describe('a group that is deleted', () => {
  it('has its profiles removed from its devices', async () => {
    const device = await enrolled();
    const { id } = await addProfile(app);
    const [group] = await app.db.knex('device_groups').insert({ name: 'Board' }, 'id');
    const member = { device_id: device.id, device_group_id: group.id };
    await app.db.knex('device_group_devices').insert(member);
    await app.db.knex('assignments').insert({ profile_id: id, device_group_id: group.id });
    await carriedOut(device);
    expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified' }]);
    expect((await api.delete(`/device_groups/${group.id}`)).status).toBe(204);
    expect(await carriedOut(device)).toEqual(['RemoveProfile', 'ProfileList']);
    expect([device.profiles.size, await itemsOf(app, device)]).toEqual([0, []]);
  });
});
