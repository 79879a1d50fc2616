import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice } from '../helpers/device.js';
import { binaryPlist } from '../protocol/plist/binary-plist.js';
import { fixture, plistFixtures } from '../protocol/plist/plist-fixtures.js';
import { dumpRows, facts } from './rows.js';

const IMAC = '66ADE930-5FDF-5EC4-8429-15640684C489';
const IPAD = '1c111c111c111c111c111c111c111c111c111c11';
const IPAD_9 = '663b07bb783e9ade1dae4fbb92ea12afc0ce5b69';
const MACBOOK = 'FA01680E-98CA-5557-8F59-7716ECFEE964';
const MAC = '00000000-1111-2222-3333-444455556666';

const AUTHENTICATED = {
  access_rights: 8191,
  enrollment_state: 'authenticated',
  enrollment_type: 'device',
  enrollment_number: 1,
  enrollment_method: 'profile',
  is_enrolled: false,
  authenticated_at: expect.any(Date),
  failed_push_count: 0,
  is_dep: false,
};

const ENROLLED = {
  ...AUTHENTICATED,
  enrollment_state: 'enrolled',
  is_enrolled: true,
  enrolled_at: expect.any(Date),
  tokenupdate_at: expect.any(Date),
  push_state: 'ok',
  health: 'ok',
  sealed_push: expect.any(Buffer),
  awaiting_configuration: false,
};

const AUTHENTICATES: Record<string, Record<string, unknown>> = {
  'Authenticate.imac-10.12.6.plist': {
    udid: IMAC,
    platform: 'macOS',
    topic: 'com.apple.mgmt.External.e0bd1eac-1f17-4c8e-8a63-dd17d3dd35d9',
    build_version: '16G2136',
    device_name: 'Fruit',
    model: 'iMac14,2',
    model_name: 'iMac',
    os_version: '10.12.6',
    product_name: 'iMac14,2',
    serial_number: 'C02MT66KFLHH',
  },
  'Authenticate.ios-11.3.1.plist': {
    udid: IPAD,
    platform: 'iOS',
    topic: 'com.apple.mgmt.XServer.1c111c11-1c11-1c11-1c11-1c111c111c11',
    build_version: '15E302',
    os_version: '11.3.1',
    product_name: 'iPad4,1',
    serial_number: 'XXXXXXXXXXXX',
  },
  'Authenticate.macbookpro-10.11.6.one-line.plist': {
    udid: MACBOOK,
    platform: 'macOS',
    topic: 'com.apple.mgmt.XServer.8b4034c3-8cd9-4121-9999-cd2ddbf9a5b1',
    build_version: '15G31',
    device_name: 'Honest Mistake',
    model: 'MacBookPro11,5',
    model_name: 'MacBook Pro',
    os_version: '10.11.6',
    product_name: 'MacBookPro11,5',
    serial_number: 'C02RX6G8G8WP',
  },
  'Authenticate.macos-10.11.plist': {
    udid: MAC,
    platform: 'macOS',
    topic: 'com.apple.mgmt.test.00000000-1111-2222-3333-444455556666',
    build_version: '15G1004',
    device_name: 'micromdm-test',
    model: 'iMac15,1',
    model_name: 'iMac',
    os_version: '10.11.6',
    product_name: 'iMac15,1',
    serial_number: 'C00000000004',
  },
};

const TOKEN_UPDATES: Record<string, { udid: string; topic: string; token: string; magic: string }> =
  {
    'TokenUpdate.ipad-9.3.5.plist': {
      udid: IPAD_9,
      topic: 'com.apple.mgmt.External.e0bd1eac-1f17-4c8e-8a63-dd17d3dd35d9',
      token: '47e8eec062c2f729ec1703c1b3e18f1971d85f00be76445d34080baa701b5f51',
      magic: 'CEFDF0BD-E342-4A27-8742-E930EA116B0A',
    },
    'TokenUpdate.macos-10.11.plist': {
      udid: MAC,
      topic: 'com.apple.mgmt.test.00000000-1111-2222-3333-444455556666',
      token: Buffer.from('apple').toString('hex'),
      magic: '00000000-1111-2222-3333-444455556666',
    },
  };

const ENCODINGS: [string, (bytes: Buffer) => Buffer][] = [
  ['XML', (bytes) => bytes],
  ['binary', (bytes) => binaryPlist(parsePlistDict(bytes))],
];

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
afterEach(async () => {
  await app.db.knex('devices').delete();
  await app.db.knex('device_identities').delete();
});

function deviceRow(udid: string) {
  return app.db.knex('devices').where({ udid }).first();
}

describe.each(ENCODINGS)('a captured check-in as %s', (_encoding, encode) => {
  it.each(Object.entries(AUTHENTICATES))('%s begins an enrollment', async (name, expected) => {
    const udid = String(expected.udid);
    const device = await createTestDevice(app, { UDID: udid });
    const reply = await device.send(encode(fixture(`checkin/${name}`)));
    expect([reply.status, reply.body.length]).toEqual([200, 0]);
    expect(facts(await deviceRow(udid))).toEqual({ ...AUTHENTICATED, ...expected });
    expect(await app.db.knex('device_identities')).toEqual([
      expect.objectContaining({
        fingerprint: device.certificate.fingerprint,
        state: 'active',
        udid,
      }),
    ]);
    expect(await app.db.knex('commands')).toEqual([]);
  });

  it.each(Object.entries(TOKEN_UPDATES))('%s enrolls', async (name, { udid, ...expected }) => {
    const device = await createTestDevice(app, { UDID: udid });
    await device.checkIn('Authenticate');
    const reply = await device.send(encode(fixture(`checkin/${name}`)));
    expect([reply.status, reply.body.length]).toEqual([200, 0]);
    const row = await deviceRow(udid);
    expect(facts(row)).toEqual({ ...ENROLLED, udid, topic: expected.topic });
    const push = app.box.open(row.sealed_push, `devices/${row.id}/push`).toString('utf8');
    expect(JSON.parse(push)).toEqual({ token: expected.token, push_magic: expected.magic });
  });

  it('TokenUpdate.ipad-9.3.5.plist leaves its unlock token sealed', async () => {
    const bytes = fixture('checkin/TokenUpdate.ipad-9.3.5.plist');
    const device = await createTestDevice(app, { UDID: IPAD_9 });
    await device.checkIn('Authenticate');
    await device.send(encode(bytes));
    const { id } = await deviceRow(IPAD_9);
    const [secret, ...others] = await app.db.knex('device_secrets');
    expect(others).toEqual([]);
    expect(secret).toMatchObject({ device_id: id, enrollment_number: 1, kind: 'unlock_token' });
    const opened = app.box.open(secret.sealed, `devices/${id}/unlock_token`);
    expect(opened).toEqual(parsePlistDict(bytes).UnlockToken);
  });

  it('CheckOut.macos-10.11.plist ends the enrollment and keeps the record', async () => {
    const device = await createTestDevice(app, { UDID: MAC });
    await device.send(encode(fixture('checkin/Authenticate.macos-10.11.plist')));
    await device.send(encode(fixture('checkin/TokenUpdate.macos-10.11.plist')));
    const { is_enrolled, enrollment_state } = await deviceRow(MAC);
    expect([is_enrolled, enrollment_state]).toEqual([true, 'enrolled']);
    const reply = await device.send(encode(fixture('checkin/CheckOut.macos-10.11.plist')));
    expect([reply.status, reply.body.length]).toEqual([200, 0]);
    const { push_state: _state, sealed_push: _push, ...left } = ENROLLED;
    expect(facts(await deviceRow(MAC))).toEqual({
      ...left,
      ...AUTHENTICATES['Authenticate.macos-10.11.plist'],
      enrollment_state: 'unenrolled',
      is_enrolled: false,
      unenrolled_at: expect.any(Date),
    });
    const statuses = await app.db.knex('commands').distinct('status', 'reason');
    expect(statuses).toEqual([{ status: 'Cancelled', reason: 'unenrolled' }]);
  });

  it('unknown-MessageType.plist gets 400', async () => {
    const device = await createTestDevice(app, { UDID: MAC });
    const before = await dumpRows(app.db);
    const reply = await device.send(encode(fixture('checkin/unknown-MessageType.plist')));
    expect([reply.status, reply.body.length]).toEqual([400, 0]);
    expect(await dumpRows(app.db)).toEqual(before);
  });
});

describe('a captured check-in whose data is no base64', () => {
  const names = plistFixtures(['checkin']).filter((name) => name.includes('bad-base64'));

  it('is among the fixtures', () => expect(names).toHaveLength(2));

  it.each(names)('%s gets 400 and changes nothing', async (name) => {
    const udid = /<key>UDID<\/key>\s*<string>(.*?)</.exec(fixture(name).toString())?.[1] ?? '';
    const device = await createTestDevice(app, { UDID: udid });
    await device.authenticate();
    const before = await dumpRows(app.db);
    const reply = await device.send(fixture(name));
    expect([reply.status, reply.body.length]).toEqual([400, 0]);
    expect(await dumpRows(app.db)).toEqual(before);
  });
});

it('every captured check-in is covered', () => {
  const covered = [
    ...Object.keys(AUTHENTICATES),
    ...Object.keys(TOKEN_UPDATES),
    'CheckOut.macos-10.11.plist',
    'unknown-MessageType.plist',
  ];
  const valid = plistFixtures(['checkin']).filter((name) => !name.includes('bad-base64'));
  expect(new Set(valid.map((name) => name.slice('checkin/'.length)))).toEqual(new Set(covered));
});
