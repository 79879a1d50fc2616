import { askAs, type DepTestServer, startDepTestServer } from '../../dep/asking-device.js';
import { adminApi } from '../../helpers/app.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';

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

const OUTDATED = { OS_VERSION: '17.0', MDM_CAN_REQUEST_SOFTWARE_UPDATE: true };

async function createDepProfile(minimum_ios_version: string | null): Promise<number> {
  const attributes = { profile_name: 'Phones', minimum_ios_version };
  const document = { data: { type: 'dep_profiles', attributes } };
  const { status, body } = await adminApi(dep.app).post('/dep/profiles', document);
  expect(status).toBe(201);
  expect(body.data.attributes).toMatchObject(attributes);
  return body.data.id;
}

async function createDepDevice(columns: Record<string, unknown>): Promise<void> {
  const device = { is_dep: true, serial_number: 'C02PROGRAM1', enrollment_state: 'dep' };
  await dep.app.db.knex('devices').insert({ ...device, ...columns });
}

/** The version that the device has to update to; undefined when it received a profile. */
async function demanded(facts = {}): Promise<string | undefined> {
  const { status, body } = await askAs(dep, { ...OUTDATED, ...facts });
  return status === 200 ? undefined : JSON.parse(body.toString()).details.OSVersion;
}

describe('a device in Automated Device Enrollment whose system is too old', () => {
  it("is answered Apple's softwareupdate.required, and nothing is stored", async () => {
    await createDepProfile('17.4');
    const { status, type, body } = await askAs(dep, OUTDATED);
    expect([status, type]).toEqual([403, 'application/json']);
    expect(JSON.parse(body.toString())).toEqual({
      code: 'com.apple.softwareupdate.required',
      description: 'version 17.4 or later is required',
      message: 'This device must be updated to version 17.4 before it can be enrolled.',
      details: { OSVersion: '17.4' },
    });
    expect(await dep.app.db.knex('enrollment_requests').select()).toEqual([]);
  });

  it('enrolls when it could not update by itself, and the minimum is stored as unmet', async () => {
    await createDepProfile('17.4');
    expect(await demanded({ MDM_CAN_REQUEST_SOFTWARE_UPDATE: false })).toBeUndefined();
    expect(await demanded({ OS_VERSION: '', MDM_CAN_REQUEST_SOFTWARE_UPDATE: '' })).toBeUndefined();
    const unmet = dep.app.db.knex('enrollment_requests').pluck('unmet_minimum_os_version');
    expect(await unmet).toEqual(['17.4', '17.4']);
  });

  it('enrolls once it has updated', async () => {
    await createDepProfile('17.4');
    expect(await demanded()).toBe('17.4');
    expect(await demanded({ OS_VERSION: '17.4' })).toBeUndefined();
  });

  it.each([['17'], ['17.0'], [null]])('enrolls with 17.0 when %s is required', async (minimum) => {
    await createDepProfile(minimum);
    expect(await demanded()).toBeUndefined();
  });
});

describe('the DEP profile that sets the minimum version', () => {
  let own: number;
  let usual: number;

  beforeEach(async () => {
    own = await createDepProfile('18.1');
    usual = await createDepProfile('18.2');
  });

  it('is the assigned profile of the device', async () => {
    const account = { default_dep_profile_id: usual };
    const [row] = await dep.app.db.knex('dep_accounts').insert(account).returning('id');
    await dep.app.db.knex('dep_profiles').where({ id: own }).update({ dep_account_id: row.id });
    await createDepDevice({ dep_profile_id: own });
    expect(await demanded()).toBe('18.1');
  });

  it('is the one that Apple returns for it, by its uuid', async () => {
    const uuid = '0d1f8a9e-6b1c-4c6a-9b5e-2f6f0f6f2a11';
    await dep.app.db.knex('dep_profiles').where({ id: own }).update({ uuid });
    await dep.app.db.knex('dep_accounts').insert({ default_dep_profile_id: usual });
    await createDepDevice({ profile_uuid: uuid.toUpperCase() });
    expect(await demanded()).toBe('18.1');
  });

  it('is otherwise the default of the account', async () => {
    await dep.app.db.knex('dep_accounts').insert({ default_dep_profile_id: usual });
    await createDepDevice({});
    expect(await demanded()).toBe('18.2');
  });

  it('is none when there are several', async () => {
    expect(await demanded()).toBeUndefined();
    const defaults = [own, usual].map((id) => ({ default_dep_profile_id: id }));
    await dep.app.db.knex('dep_accounts').insert(defaults);
    await createDepDevice({});
    expect(await demanded()).toBeUndefined();
  });
});

it.each([['latest'], ['17.'], ['.4'], ['17.4.1.2.3'], ['-1'], ['17,4'], ['']])(
  'a profile does not accept %j as a version',
  async (version) => {
    const attributes = { profile_name: 'Macs', minimum_macos_version: version };
    const document = { data: { type: 'dep_profiles', attributes } };
    const { status, body } = await adminApi(dep.app).post('/dep/profiles', document);
    expect(status).toBe(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/minimum_macos_version');
  },
);
