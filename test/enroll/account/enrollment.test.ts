import { type PlistDict, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { PUBLIC_URL } from '../../helpers/app.js';
import { deviceKeys, type Fields, issueIdentity } from '../../helpers/device.js';
import {
  type AccountFixture,
  ALICE,
  addUser,
  ask,
  Browser,
  csrfIn,
  discover,
  installProfile,
  MACHINE,
  startFixture,
  tokenIn,
  tokenOf,
} from './fixture.js';

let fixture: AccountFixture;

beforeAll(async () => {
  fixture = await startFixture({ isSweeping: false });
});
afterAll(() => fixture.app.stop());
beforeEach(async () => {
  for (const table of ['enrollment_requests', 'enrollment_users', 'devices']) {
    await fixture.app.db.knex(table).delete();
  }
});

const requests = () => fixture.app.db.knex('enrollment_requests').orderBy('id');

function mdmIn(profile: Buffer): PlistDict {
  const payloads = parsePlistDict(profile).PayloadContent as PlistDict[];
  return payloads.find(({ PayloadType }) => PayloadType === 'com.apple.mdm') ?? {};
}

describe('a person who enrolls with an account', () => {
  it.each<[string, string, string, object, Fields | undefined]>([
    ['byod', 'account_user', 'BYOD', {}, undefined],
    [
      'adde',
      'account_device',
      'ADDE',
      { serial_number: MACHINE.SERIAL, udid: MACHINE.UDID },
      { UDID: MACHINE.UDID ?? '', SerialNumber: MACHINE.SERIAL ?? '' },
    ],
  ])('completes the enrollment as %s', async (mode, method, profileMode, bound, ids) => {
    const { app } = fixture;
    await addUser(app, { enrollment_mode: mode });
    const found = await discover(app, `?user-identifier=${ALICE}&model-family=iPhone`);
    const { Servers } = (await found.json()) as { Servers: { Version: string; BaseURL: string }[] };
    expect(Servers).toEqual([
      { Version: `mdm-${mode}`, BaseURL: `${PUBLIC_URL}/enroll/account?mode=${mode}` },
    ]);

    const first = await ask(fixture, { mode });
    expect([first.status, first.body.length]).toEqual([401, 0]);
    const login = `${PUBLIC_URL}/enroll/account/login`;
    expect(first.headers.get('www-authenticate')).toBe(
      `Bearer method="apple-as-web", url="${login}"`,
    );
    expect(await requests()).toEqual([]);

    const browser = new Browser(app);
    const form = await browser.open(`${login}?user-identifier=${encodeURIComponent(ALICE)}`);
    expect(form.text).toContain(`value="${ALICE}"`);
    const answer = await browser.submit({
      csrf: csrfIn(form.text),
      account: 'ALICE@example.com',
      password: 'correct horse battery',
    });
    expect([answer.status, answer.text, browser.cookies]).toEqual([308, '', []]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const token = tokenIn(answer.location);

    const given = await ask(fixture, { mode, token });
    expect([given.status, given.headers.get('content-type')]).toEqual([
      200,
      'application/x-apple-aspen-config',
    ]);
    expect(mdmIn(given.body)).toMatchObject({
      EnrollmentMode: profileMode,
      AssignedManagedAppleID: ALICE,
    });
    expect('AccessRights' in mdmIn(given.body)).toBe(mode === 'adde');
    const [request] = await requests();
    expect(request).toMatchObject({
      method,
      account: ALICE,
      product_name: 'iPhone14,5',
      build_version: '21A342',
      udid: null,
      serial_number: null,
      language: 'de-CH',
      enrolled_at: null,
      ...bound,
      signer: fixture.certified.certificate.fingerprint,
    });

    const device = await installProfile(app, given.body, ids);
    await device.enroll({ OSVersion: '17.0' });
    const key = mode === 'byod' ? 'enrollment_id' : 'udid';
    const row = await app.db
      .knex('devices')
      .where({ [key]: device.udid })
      .first();
    expect(row).toMatchObject({
      is_enrolled: true,
      enrollment_type: mode === 'byod' ? 'user' : 'device',
      enrollment_method: method,
      managed_apple_account: ALICE,
      serial_number: mode === 'byod' ? null : MACHINE.SERIAL,
    });
    expect((await requests())[0]).toMatchObject({
      device_id: row.id,
      enrolled_at: expect.any(Date),
    });
    const inventory = await app.db.knex('commands').where({ device_id: row.id });
    expect(inventory.map(({ request_type }) => request_type)).toContain('DeviceInformation');
    expect((await ask(fixture, { mode, token })).status).toBe(401);
  });

  it('may repeat the request with the same device until it has enrolled: one request', async () => {
    await addUser(fixture.app);
    const token = await tokenOf(fixture.app);
    const replies = await Promise.all([1, 2, 3].map(() => ask(fixture, { token })));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await requests()).toHaveLength(1);
  });

  it('is refused with the token of another device', async () => {
    await addUser(fixture.app);
    const token = await tokenOf(fixture.app);
    expect((await ask(fixture, { token })).status).toBe(200);
    const keys = await deviceKeys();
    const other = { ...keys, certificate: issueIdentity(fixture.app.authority, keys) };
    const reply = await ask(fixture, { token, signer: other });
    expect([reply.status, reply.body.length]).toEqual([401, 0]);
    expect(await requests()).toHaveLength(1);
  });
});
