import { isDeepStrictEqual } from 'node:util';
import request from 'supertest';
import { buildPlist, parsePlistDict } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { binaryPlist } from '../protocol/plist/binary-plist.js';
import { fixture, plistFixtures } from '../protocol/plist/plist-fixtures.js';
import { EXPECTED, type ExpectedReport, IPAD } from './expected-reports.js';
import { dumpRows, facts } from './rows.js';

const PAYLOAD = buildPlist({ Command: {} });

/** Compared by themselves. */
const NO_INVENTORY = ['commands', 'devices', 'ended_commands'];

const FAILED = ['Error', 'CommandFormatError'];

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
afterEach(async () => {
  await app.db.knex('devices').delete();
  await app.db.knex('device_identities').delete();
});

/** An enrolled device with nothing in its queue but one command that has been sent. */
async function deviceWith(command: ExpectedReport): Promise<TestDevice> {
  const { requestType, udid, uuid } = command;
  const device = await createTestDevice(app, { UDID: udid });
  await device.checkIn('Authenticate');
  await device.tokenUpdate();
  const { knex } = app.db;
  await knex('commands').delete();
  const { id } = await knex('devices').where({ udid }).first('id');
  await knex('commands').insert({
    uuid,
    device_id: id,
    request_type: requestType,
    status: 'Sent',
    sent_at: new Date(),
    attempts: 1,
    ttl: 4,
    payload: PAYLOAD,
  });
  return device;
}

function deviceFacts(udid: string) {
  return app.db.knex('devices').where({ udid }).first().then(facts);
}

interface Before {
  device: Record<string, unknown>;
  dump: Awaited<ReturnType<typeof dumpRows>>;
}

async function stateOf(udid: string): Promise<Before> {
  return { device: await deviceFacts(udid), dump: await dumpRows(app.db) };
}

/** Every table that the report has changed, with its rows. */
async function changedTables({ dump }: Before): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {};
  for (const [table, lines] of Object.entries(await dumpRows(app.db))) {
    if (NO_INVENTORY.includes(table) || isDeepStrictEqual(lines, dump[table])) continue;
    tables[table] = (await app.db.knex(table).orderByRaw('1')).map(facts);
  }
  return tables;
}

async function expectRows(
  { requestType, uuid, ...expected }: ExpectedReport,
  { before, bytes }: { before: Before; bytes: Buffer },
) {
  const status = expected.status ?? 'Acknowledged';
  const [command, ...others] = await app.db.knex('commands');
  expect(others).toEqual([]);
  expect(facts(command)).toEqual({
    uuid,
    request_type: requestType,
    status,
    attempts: 1,
    priority: 0,
    payload: PAYLOAD,
    result: bytes,
    needs_handling: false,
    is_forced: false,
    ttl: status === 'NotNow' ? 5 : 4,
    queued_at: expect.any(Date),
    sent_at: expect.any(Date),
    acknowledged_at: expect.any(Date),
    ...(status === 'NotNow' && { not_now_since: expect.any(Date) }),
    ...(FAILED.includes(status) && { failed_at: expect.any(Date) }),
    ...(expected.errorChain && { error_chain: expected.errorChain }),
  });
  expect(await deviceFacts(expected.udid)).toEqual({ ...before.device, ...expected.device });
  expect(await changedTables(before)).toEqual(expected.rows ?? {});
}

describe('a captured report', () => {
  it.each(Object.entries(EXPECTED))('%s is stored and handled', async (name, expected) => {
    const device = await deviceWith(expected);
    const before = await stateOf(expected.udid);
    const bytes = fixture(`response/${name}`);
    const reply = await device.send(bytes);
    expect([reply.status, reply.headers.get('content-length')]).toEqual([200, '0']);
    await app.waitForReports();
    await expectRows(expected, { before, bytes });
  });

  it.each(Object.entries(EXPECTED))(
    '%s leaves the same rows as a binary',
    async (name, expected) => {
      const device = await deviceWith(expected);
      const before = await stateOf(expected.udid);
      const bytes = binaryPlist(parsePlistDict(fixture(`response/${name}`)));
      expect((await device.send(bytes)).status).toBe(200);
      await app.waitForReports();
      await expectRows(expected, { before, bytes });
    },
  );

  it('is accepted by the Express app alone, too', async () => {
    const expected = EXPECTED['SecurityInfo.ios-11.3.1.plist'] as ExpectedReport;
    const device = await deviceWith(expected);
    const before = await stateOf(expected.udid);
    const bytes = fixture('response/SecurityInfo.ios-11.3.1.plist');
    const reply = await request(app.app)
      .put('/mdm')
      .set('Mdm-Signature', device.sign(bytes))
      .set('Content-Type', 'application/x-apple-aspen-mdm; charset=UTF-8')
      .send(bytes);
    expect([reply.status, reply.headers['content-length']]).toEqual([200, '0']);
    await app.waitForReports();
    await expectRows(expected, { before, bytes });
  });

  it('gets 400 and changes nothing when its data is no base64', async () => {
    const device = await deviceWith({
      requestType: 'CertificateList',
      udid: IPAD,
      uuid: '506315e2-386a-44eb-9f46-e402afce7e80',
    });
    const before = await dumpRows(app.db);
    const reply = await device.send(
      fixture('response/CertificateList.ios-11.3.1.bad-base64.plist'),
    );
    expect([reply.status, reply.body.length]).toEqual([400, 0]);
    expect(await dumpRows(app.db)).toEqual(before);
  });
});

it('every captured report is covered, and the long lists are not empty', () => {
  const valid = plistFixtures(['response']).filter((name) => !name.includes('bad-base64'));
  expect(valid.map((name) => name.slice('response/'.length))).toEqual(Object.keys(EXPECTED));
  const long = EXPECTED['InstalledApplicationList.ios-12.1.plist']?.rows?.installed_applications;
  expect(long).toHaveLength(12);
  expect(long?.[0]).toEqual({
    bundle_identifier: 'com.agilebits.onepassword-ios',
    name: '1Password',
    short_version: '7.2.2',
    version: '70202006',
    bundle_size: 87191552,
    dynamic_size: 196608,
    is_validated: true,
    external_version_identifier: 829185909,
    adhoc_codesigned: false,
    appstore_vendable: true,
    beta_app: false,
    device_based_vpp: false,
    has_update_available: true,
    installing: false,
  });
  const mac = EXPECTED['AvailableOSUpdates.macos-10.13.1.plist']?.rows?.available_os_updates;
  expect(mac).toHaveLength(7);
  expect(mac?.[0]).toMatchObject({ version: ' ', app_identifiers_to_close: [], is_critical: true });
});
