import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseCell } from '../../src/protocol/mdm/cell-label.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { eventually } from './admin-client.js';
import {
  enrolledDevices,
  isInventoried,
  type LabFixture,
  openLabFixture,
  runSimulation,
  type Simulated,
  seedFor,
} from './lab-fixture.js';

const ACCOUNT = 'ada@example.com';
const PASSWORD = 'correct horse battery';

let fixture: LabFixture;
let passwordFile: string;

beforeAll(async () => {
  fixture = await openLabFixture();
  passwordFile = join(temporaryDirectory(), 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
});
afterAll(async () => {
  await fixture.stop();
  removeTemporaryDirectories();
});
beforeEach(async () => {
  for (const table of ['devices', 'enrollment_users', 'dep_profiles', 'dep_accounts']) {
    await fixture.app.db.knex(table).delete();
  }
});

function expectEnrolled({ code, output }: Simulated): void {
  expect(output).toContain('Devices:  1 of 1 enrolled');
  expect(code).toBe(0);
}

/** Where the serial number was known as the profile was made, the label follows from it. */
function labelOf(device: Record<string, unknown> | undefined): number | undefined {
  const { enrollment_method, serial_number } = device ?? {};
  if (typeof serial_number !== 'string' || enrollment_method === 'profile') return undefined;
  return chooseCell(serial_number);
}

/** The only record there is, enrolled and inventoried, with the label of its ServerURL. */
async function onlyDevice() {
  const [device, ...others] = await enrolledDevices(fixture);
  expect(others).toEqual([]);
  expect(device?.enrollment_state).toBe('enrolled');
  expect(device?.cell).toEqual(labelOf(device) ?? expect.any(Number));
  expect(await isInventoried(fixture, Number(device?.id))).toBe(true);
  return device;
}

async function addUser(enrollment_mode: 'byod' | 'adde'): Promise<void> {
  const attributes = { account: ACCOUNT, password: PASSWORD, enrollment_mode };
  const document = { data: { type: 'enrollment_users', attributes } };
  await fixture.api.post('/enrollment_users', document).expect(201);
}

describe('a device ends enrolled and inventoried', () => {
  it('by a profile that somebody opens', async () => {
    expectEnrolled(await runSimulation(fixture, { enroll: 'profile' }));
    expect(await onlyDevice()).toMatchObject({ enrollment_method: 'profile' });
  });

  it.each([
    ['profile', () => expect.stringMatching(/^CN=[0-9a-f]{32},O=Muster$/)],
    ['ota', (udid: unknown) => `CN=${udid},O=Muster`],
  ] as const)(
    'with a certificate that the server has named, on an iPhone: %s',
    async (enroll, nameBy) => {
      expectEnrolled(await runSimulation(fixture, { enroll, platform: 'iOS' }));
      const device = await onlyDevice();
      const issued = fixture.app.db.knex('certificates').where({ purpose: 'mdm.device' });
      const { subject, x509_cn } = await issued.orderBy('id', 'desc').first();
      expect(subject).toEqual(nameBy(device?.udid));
      const installed = fixture.app.db
        .knex('installed_certificates')
        .where({ device_id: device?.id });
      expect(await installed.where({ is_identity: true }).pluck('x509_cn')).toContain(x509_cn);
    },
  );

  it('by a link, with the tags of the link, as often as the link says', async () => {
    const tag = { data: { type: 'tags', attributes: { name: 'invited' } } };
    const { body: tagged } = await fixture.api.post('/tags', tag).expect(201);
    const attributes = { name: 'for Ada', max_uses: 1 };
    const relationships = { tags: { data: [{ type: 'tags', id: tagged.data.id }] } };
    const link = { data: { type: 'enrollment_links', attributes, relationships } };
    const { body } = await fixture.api.post('/enrollment_links', link).expect(201);
    const token = new URL(body.data.attributes.url).searchParams.get('token') ?? '';
    expectEnrolled(await runSimulation(fixture, { enroll: 'profile', token }));
    const device = await onlyDevice();
    const tags = await fixture.api.get(`/devices/${device?.id}/relationships/tags`).expect(200);
    expect(tags.body.data).toEqual([{ type: 'tags', id: tagged.data.id }]);

    const { code, output } = await runSimulation(fixture, { enroll: 'ota', token });
    expect(output).toContain('answered 403: this link was used as often as it may be');
    expect(code).toBe(1);
    await onlyDevice();
  });

  it('over the air', async () => {
    expectEnrolled(await runSimulation(fixture, { enroll: 'ota' }));
    expect(await onlyDevice()).toMatchObject({ enrollment_method: 'ota' });
  });

  it('by Automated Device Enrollment, in the record that waited for its serial number', async () => {
    const [{ id }] = await fixture.app.db
      .knex('devices')
      .insert({ serial_number: 'F2LADE000001', is_dep: true, enrollment_state: 'dep' })
      .returning('id');
    const options = { enroll: 'ade', platform: 'iOS', awaitConfiguration: true } as const;
    expectEnrolled(await runSimulation(fixture, options));
    expect(await onlyDevice()).toMatchObject({
      id,
      serial_number: 'F2LADE000001',
      is_dep: true,
      is_supervised: true,
      enrollment_method: 'automated',
      awaiting_configuration: false,
    });
    const { body } = await fixture.api.get(`/devices/${id}/commands?sort=-id&page[size]=100`);
    const types = body.data.map(
      ({ attributes }: { attributes: Record<string, string> }) =>
        `${attributes.request_type} ${attributes.status}`,
    );
    expect(types).toContain('DeviceConfigured Acknowledged');
  });

  it('with the account of its owner, known by nothing but its enrollment', async () => {
    await addUser('byod');
    const options = { enroll: 'account', account: ACCOUNT, passwordFile } as const;
    expectEnrolled(await runSimulation(fixture, options));
    const device = await onlyDevice();
    expect(device).toMatchObject({
      udid: null,
      serial_number: null,
      enrollment_method: 'account_user',
      enrollment_type: 'user',
      managed_apple_account: ACCOUNT,
      is_supervised: false,
    });
    expect(device?.enrollment_id).toMatch(/^[0-9A-F-]{36}$/);
  });

  it('with the account of its user, as a device of the organization', async () => {
    await addUser('adde');
    const options = { enroll: 'account', account: ACCOUNT, passwordFile } as const;
    expectEnrolled(await runSimulation(fixture, options));
    const device = await onlyDevice();
    expect(device).toMatchObject({
      enrollment_id: null,
      enrollment_method: 'account_device',
      managed_apple_account: ACCOUNT,
    });
    expect(device?.serial_number).toMatch(/^[0-9A-Z]{10,12}$/);
  });
});

describe('the simulator reports what the server answered', () => {
  it('to an account that may not enroll', async () => {
    await addUser('byod');
    writeFileSync(`${passwordFile}.wrong`, 'not the password');
    const options = { enroll: 'account', account: ACCOUNT } as const;
    const wrong = `${passwordFile}.wrong`;
    const { code, output } = await runSimulation(fixture, { ...options, passwordFile: wrong });
    expect(output).toMatch(/\/enroll\/account\/login answered \d+: .*password/);
    expect(code).toBe(1);
    expect(await enrolledDevices(fixture)).toEqual([]);
  });

  it('to a device whose system is too old', async () => {
    const { knex } = fixture.app.db;
    const [account] = await knex('dep_accounts').insert({ consumer_key: 'CK' }).returning('id');
    const [profile] = await knex('dep_profiles')
      .insert({
        dep_account_id: account.id,
        profile_name: 'new',
        url: 'https://x.example',
        minimum_ios_version: '99.1',
      })
      .returning('id');
    await knex('devices').insert({
      serial_number: 'F2LOLD000001',
      is_dep: true,
      enrollment_state: 'dep',
      dep_profile_id: profile.id,
    });
    const seed = seedFor('iOS', ({ release }) => release.version.startsWith('18'));
    const options = { enroll: 'ade', platform: 'iOS', seed } as const;
    const { code, output } = await runSimulation(fixture, options);
    expect(output).toContain('answered 403: the device needs version 99.1 of its system first');
    expect(code).toBe(1);
  });
});

describe('a user', () => {
  it.each(['macOS', 'iOS'] as const)(
    'of %s is pushed, and answers apart from the device',
    async (platform) => {
      const ending = new AbortController();
      const seed = seedFor(platform, ({ model }) => model.modelName !== 'iPhone');
      const run = runSimulation(
        fixture,
        // The iPad is a shared one.
        { enroll: 'ade', platform, user: true, push: true, forever: true, seed },
        ending.signal,
      );
      const user = await eventually(
        async () =>
          (await fixture.app.db.knex('device_users').first()) as
            | { id: number; device_id: number }
            | undefined,
        (row) => row !== undefined,
        20_000,
      );
      const relationships = {
        device: { data: { type: 'devices', id: Number(user?.device_id) } },
        user: { data: { type: 'device_users', id: Number(user?.id) } },
      };
      const data = { type: 'commands', attributes: { request_type: 'ProfileList' }, relationships };
      const { body } = await fixture.api.post('/commands', { data }).expect(201);
      const done = await eventually(
        async () => (await fixture.api.get(`/commands/${body.data.id}`)).body.data.attributes,
        ({ status }) => status === 'Acknowledged',
        20_000,
      );
      expect(done.result.ProfileList).toEqual([]);
      // The answer may come before the outcome of the push is written.
      const pushed = await eventually(
        async () =>
          await fixture.app.db
            .knex('device_users')
            .first<Record<string, unknown>>('push_state', 'last_push_result'),
        (row) => row?.last_push_result !== null,
        5_000,
      );
      expect(pushed).toEqual({ push_state: 'ok', last_push_result: 'delivered' });
      ending.abort();
      await run;
    },
  );
});
