import { randomUUID } from 'node:crypto';
import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { askAs, type DepTestServer, startDepTestServer, UDID } from '../../dep/asking-device.js';
import { addAccount, addListed } from '../../dep/devices/listed-devices.js';
import { adminApi } from '../../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../../helpers/device.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';
import { carryOut } from '../../setup-assistant/setup-fixture.js';
import { askForIdentity } from '../renewal-fixture.js';

const SERIAL = 'C02PROGRAM1';
let dep: DepTestServer;

beforeAll(async () => {
  dep = await startDepTestServer({ isSweeping: false });
});
afterAll(async () => {
  await dep.app.stop();
  removeTemporaryDirectories();
});
afterEach(async () => {
  for (const table of ['enrollment_requests', 'devices', 'dep_profiles', 'dep_accounts']) {
    await dep.app.db.knex(table).delete();
  }
});

/** What Apple lists of the device before it was ever switched on. */
async function createDepRecord(): Promise<number> {
  const { knex } = dep.app.db;
  const facts = { is_dep: true, serial_number: SERIAL, enrollment_state: 'dep' };
  const [{ id }] = await knex('devices').insert({ ...facts, asset_tag: 'A-17' }, 'id');
  return id;
}

/** The device with the identity that its automated enrollment brought it. */
async function certify(facts: Fields = {}): Promise<TestDevice> {
  const { app } = dep;
  const { body } = await askAs(dep, facts);
  const device = await createTestDevice(app, { UDID });
  return device.with(await askForIdentity(app, readProfileFile(body)));
}

const records = () => dep.app.db.knex('devices').select();

describe('a device in Automated Device Enrollment', () => {
  it('has the one record that the sync had created, set up and inventoried', async () => {
    const id = await createDepRecord();
    const device = await certify();
    await device.enroll(
      { SerialNumber: SERIAL, OSVersion: '17.0' },
      { AwaitingConfiguration: true },
    );
    const types = await carryOut(device);
    expect(types).toEqual(expect.arrayContaining(['DeviceInformation', 'CertificateList']));
    expect(types.at(-1)).toBe('DeviceConfigured');
    await dep.app.waitForReports();
    expect(await records()).toMatchObject([
      {
        id,
        udid: UDID,
        serial_number: SERIAL,
        is_dep: true,
        asset_tag: 'A-17',
        enrollment_state: 'enrolled',
        is_enrolled: true,
        enrollment_type: 'device',
        enrollment_method: 'automated',
        unmet_minimum_os_version: null,
        awaiting_configuration: false,
      },
    ]);
    const [request] = await dep.app.db.knex('enrollment_requests').select();
    expect(request.device_id).toBe(id);
    expect(request.enrolled_at).not.toBeNull();
  });

  it('is tracked again after it was wiped', async () => {
    const { app } = dep;
    const { knex } = app.db;
    const pushed = { profile_uuid: randomUUID(), profile_status: 'pushed' };
    const assigned = { ...pushed, profile_assign_time: new Date(0) };
    const dep_account_id = await addAccount(knex);
    const { id } = await addListed(knex, { dep_account_id, serial_number: SERIAL, ...assigned });
    const row = () => knex('dep_devices').where({ id }).first();
    const facts = { SerialNumber: SERIAL, OSVersion: '17.0' };
    await (await certify()).enroll(facts, { AwaitingConfiguration: true });
    await app.waitForReports();
    const first = await row();
    expect(first).toMatchObject({ stage: 'enrolled', is_enrolled: true });
    const again = await certify();
    const asked = await row();
    expect(asked).toMatchObject({ stage: 'enrolled', enrolled_at: first.enrolled_at });
    expect(asked.contacted_at.getTime()).toBeGreaterThan(first.contacted_at.getTime());
    expect((await again.authenticate(facts)).status).toBe(200);
    expect(await row()).toEqual({ ...asked, stage: 'contacted', is_enrolled: false });
    await again.tokenUpdate({ AwaitingConfiguration: true });
    await app.waitForReports();
    const last = await row();
    expect(last).toEqual({
      ...asked,
      stage: 'enrolled',
      is_enrolled: true,
      enrolled_at: last.enrolled_at,
    });
    expect(last.enrolled_at.getTime()).toBeGreaterThan(asked.contacted_at.getTime());
    expect(await records()).toMatchObject([{ id: last.device_id, enrolled_at: last.enrolled_at }]);
  });

  it.each([
    ['the serial number of another', { SerialNumber: 'C02OTHER' }],
    ['the UDID of another', { SerialNumber: SERIAL, UDID: '00008101-0000000000000000' }],
  ])('is refused with %s than it has signed', async (_name, facts) => {
    await createDepRecord();
    const before = await records();
    const device = await certify();
    expect((await device.authenticate(facts)).status).toBe(403);
    expect(await records()).toEqual(before);
  });

  it('shows the minimum version that it did not meet until its system does', async () => {
    const { app } = dep;
    await app.db
      .knex('dep_profiles')
      .insert({ profile_name: 'Phones', url: 'https://x', minimum_ios_version: '17.4' });
    const id = await createDepRecord();
    const device = await certify({ MDM_CAN_REQUEST_SOFTWARE_UPDATE: false });
    await device.enroll({ SerialNumber: SERIAL, OSVersion: '17.0' });
    const shown = async () => {
      const { body } = await adminApi(app).get(`/devices/${id}`);
      const { unmet_minimum_os_version, enrollment_method } = body.data.attributes;
      return [enrollment_method, unmet_minimum_os_version];
    };
    expect(await shown()).toEqual(['automated', '17.4']);
    const report = async (OSVersion: string) => {
      await adminApi(app).get(`/devices/inventory/${id}`);
      const offered = commandIn(await device.idle());
      expect(offered?.command.RequestType).toBe('DeviceInformation');
      await device.report(offered?.uuid ?? '', 'Acknowledged', { QueryResponses: { OSVersion } });
      await carryOut(device);
      await app.waitForReports();
    };
    await report('17.3.1');
    expect(await shown()).toEqual(['automated', '17.4']);
    await report('17.4');
    expect(await shown()).toEqual(['automated', null]);
  });
});
