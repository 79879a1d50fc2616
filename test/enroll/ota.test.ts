import request from 'supertest';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { type Identity, identityOf } from '../crypto/identities.js';
import {
  type DepTestServer,
  deviceAuthority,
  MACHINE,
  signedBy,
  startDepTestServer,
  UDID,
} from '../dep/asking-device.js';
import { PUBLIC_URL, type TestApp } from '../helpers/app.js';
import { deviceKeys, TestDevice } from '../helpers/device.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { dumpRows } from '../mdm/rows.js';
import {
  askForCertificate,
  authenticate,
  challengeIn,
  get,
  identityFrom,
  otaChallenge,
  post,
  profileIn,
  scepIn,
} from './ota-fixture.js';

const HOUR_MS = 3_600_000;
const UUID = /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/;

let dep: DepTestServer;
let app: TestApp;
let device: Identity;

beforeAll(async () => {
  dep = await startDepTestServer({ isSweeping: false });
  ({ app, device } = dep);
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});
afterEach(async () => {
  for (const table of [
    'scep_challenges',
    'enrollment_requests',
    'devices',
    'scep_configurations',
  ]) {
    await app.db.knex(table).delete();
  }
});

const requests = () => app.db.knex('enrollment_requests').orderBy('id').select();
const lastRefusal = () =>
  app.logLines.findLast(({ msg }) => msg === 'device request refused')?.reason;

/** A device that has its identity of the first phase. */
async function begun() {
  const answer = await authenticate(app, device, { CHALLENGE: await otaChallenge(app) });
  return { answer, identity: await identityFrom(app, answer) };
}

describe('the Profile Service', () => {
  it('requests attributes of a device, and stores nothing for it', async () => {
    const before = await dumpRows(app.db);
    const answer = await get(app, '/enroll/ota');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/x-apple-aspen-config',
      'content-disposition': 'attachment; filename="ota.mobileconfig"',
      'cache-control': 'no-store',
    });
    expect({ ...profileIn(answer) }).toEqual({
      PayloadType: 'Profile Service',
      PayloadVersion: 1,
      PayloadIdentifier: 'dev.muster.ota',
      PayloadUUID: expect.stringMatching(UUID),
      PayloadDisplayName: 'Muster device management',
      PayloadDescription: 'Lets this device be managed.',
      PayloadOrganization: 'Muster',
      PayloadContent: {
        URL: `${PUBLIC_URL}/enroll/ota_authenticate`,
        DeviceAttributes: [
          'UDID',
          'SERIAL',
          'PRODUCT',
          'VERSION',
          'IMEI',
          'MEID',
          'ICCID',
          'DEVICE_NAME',
          'LANGUAGE',
        ],
        Challenge: expect.stringMatching(/^[A-Za-z0-9+/]{64,128}$/),
      },
    });
    expect(await otaChallenge(app)).not.toBe(await otaChallenge(app));
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('answers HEAD, and other methods with 405', async () => {
    expect((await request(app.app).head('/enroll/ota')).status).toBe(200);
    for (const method of ['put', 'post', 'delete'] as const) {
      const reply = await request(app.app)[method]('/enroll/ota');
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD']);
    }
    for (const method of ['put', 'get', 'delete'] as const) {
      const reply = await request(app.app)[method]('/enroll/ota_authenticate');
      expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
    }
  });

  it('is refused when identities could not be bound', async () => {
    const url = 'https://scep.example.com';
    await app.db.knex('scep_configurations').insert({ source_type: 'ExternalSCEP', url });
    const answer = await get(app, '/enroll/ota');
    const why = 'enrollment over the air needs identities by the internal SCEP';
    const text = `${why}: use /enroll/profile instead\n`;
    expect([answer.status, answer.body.toString()]).toEqual([409, text]);
    await app.db.knex('scep_configurations').update({ source_type: 'InternalPKCS12' });
    expect((await get(app, '/enroll/ota')).status).toBe(503);
  });
});

describe('the first phase', () => {
  it('sends a device that Apple certified a profile with SCEP alone', async () => {
    const answer = await authenticate(app, device, { CHALLENGE: await otaChallenge(app) });
    const { PayloadContent, ...profile } = profileIn(answer);
    expect(answer.headers.get('content-type')).toBe('application/x-apple-aspen-config');
    expect({ ...profile }).toEqual({
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadIdentifier: 'dev.muster.ota.identity',
      PayloadUUID: expect.stringMatching(UUID),
      PayloadDisplayName: 'Muster device identity',
      PayloadOrganization: 'Muster',
      PayloadScope: 'System',
    });
    expect(PayloadContent.map(({ PayloadType }) => PayloadType)).toEqual([
      'com.apple.security.scep',
    ]);
    expect(scepIn(answer)).toMatchObject({
      URL: `${PUBLIC_URL}/scep`,
      Subject: [[['O', 'Muster']], [['CN', '%HardwareUUID%']]],
      Keysize: 2048,
    });
  });

  it('stores what the device has proved, and binds the challenge to it for an hour', async () => {
    const CHALLENGE = await otaChallenge(app);
    const answer = await authenticate(app, device, { CHALLENGE });
    const [row, ...others] = await requests();
    expect(others).toEqual([]);
    const otaChallenges = new EnrollmentChallenges({ box: app.box, surface: 'ota' });
    expect(row).toMatchObject({
      method: 'ota',
      udid: UDID,
      serial_number: 'C02PROGRAM1',
      product_name: 'iPhone14,5',
      os_version: '17.0',
      build_version: '21A342',
      imei: '35 123456 789012 3',
      meid: '35123456789012',
      language: 'de-CH',
      account: null,
      enrollment_link_id: null,
      nonce: otaChallenges.readChallenge(CHALLENGE).nonce,
      signer: device.certificate.fingerprint,
      certificate_id: null,
      device_id: null,
      enrolled_at: null,
    });
    const { nonce: _nonce, expiresAt, ...made } = challengeIn(app, answer);
    expect(made).toEqual({ requestId: row.id, isExchange: true });
    expect(Math.abs(expiresAt.getTime() - row.expires_at.getTime())).toBeLessThan(1_000);
    expect(Math.abs(row.expires_at.getTime() - Date.now() - HOUR_MS)).toBeLessThan(60_000);
    expect(app.logText()).not.toContain(CHALLENGE);
  });

  it('is repeated for the same device while it has no certificate, with the same request', async () => {
    const CHALLENGE = await otaChallenge(app);
    const first = await authenticate(app, device, { CHALLENGE });
    const again = await authenticate(app, device, { CHALLENGE, UDID: UDID.toLowerCase() });
    expect(await requests()).toHaveLength(1);
    expect(challengeIn(app, again).requestId).toBe(challengeIn(app, first).requestId);
    expect(scepIn(again).Challenge).not.toBe(scepIn(first).Challenge);
    await identityFrom(app, again);
    const late = await authenticate(app, device, { CHALLENGE });
    expect([late.status, late.body.toString()]).toEqual([
      403,
      'the enrollment challenge is not valid\n',
    ]);
  });

  it('accepts the challenge as data, too', async () => {
    const CHALLENGE = Buffer.from(await otaChallenge(app));
    const content = buildPlist({ ...MACHINE, CHALLENGE });
    const answer = await post(app, '/enroll/ota_authenticate', signedBy(device, content));
    expect([answer.status, (await requests()).length]).toEqual([200, 1]);
    const noise = buildPlist({ ...MACHINE, CHALLENGE: Buffer.of(0xff, 0xfe, 0) });
    const refused = await post(app, '/enroll/ota_authenticate', signedBy(device, noise));
    expect([refused.status, (await requests()).length]).toEqual([403, 1]);
    // Nor is it an answer to a challenge any less where none is asked for.
    const passedOn = await post(app, '/enroll/profile', signedBy(device, content));
    expect([passedOn.status, lastRefusal()]).toEqual([403, undefined]);
  });

  it('creates one request when the same device sends many at once', async () => {
    const CHALLENGE = await otaChallenge(app);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => authenticate(app, device, { CHALLENGE })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(await requests()).toHaveLength(1);
  });

  it.each([
    ['another UDID', { UDID: '00008101-000000000000001E' }],
    ['another serial number', { SERIAL: 'C02ANOTHER1' }],
  ])('refuses a used challenge to %s', async (_name, facts) => {
    const CHALLENGE = await otaChallenge(app);
    await authenticate(app, device, { CHALLENGE });
    const before = await dumpRows(app.db);
    expect((await authenticate(app, device, { CHALLENGE, ...facts })).status).toBe(403);
    expect(lastRefusal()).toMatch(/^already used; now by the device /);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('refuses a used challenge to another signer', async () => {
    const CHALLENGE = await otaChallenge(app);
    await authenticate(app, device, { CHALLENGE });
    const other = identityOf(await deviceKeys(), { issuedBy: await deviceAuthority() });
    expect(other.certificate.fingerprint).not.toEqual(device.certificate.fingerprint);
    expect((await authenticate(app, other, { CHALLENGE })).status).toBe(403);
    const [row, ...others] = await requests();
    expect([row.signer, others]).toEqual([device.certificate.fingerprint, []]);
  });
});

describe('the second phase', () => {
  it('sends the enrollment profile, bound to the same request, as often as requested', async () => {
    const { identity } = await begun();
    const [row] = await requests();
    const types = ['com.apple.security.root', 'com.apple.security.scep', 'com.apple.mdm'];
    for (const UDID_ of [UDID, UDID.toLowerCase()]) {
      const answer = await authenticate(app, identity, { UDID: UDID_ });
      const profile = profileIn(answer);
      expect(profile.PayloadIdentifier).toBe('dev.muster.enroll');
      expect(profile.PayloadContent.map(({ PayloadType }) => PayloadType)).toEqual(types);
      const { nonce: _nonce, expiresAt, ...made } = challengeIn(app, answer);
      expect(made).toEqual({ requestId: row.id });
      expect(expiresAt.getTime()).toBe(Math.floor(row.expires_at.getTime() / 1000) * 1000);
    }
    expect(await requests()).toEqual([row]);
  });

  it('ends with an enrolled device, and accepts no message afterwards', async () => {
    const { identity } = await begun();
    const enrollment = await authenticate(app, identity);
    const { certificate, privateKey, publicKey } = await identityFrom(app, enrollment);
    const keys = { privateKey, publicKey };
    const enrolling = new TestDevice(app.url, keys, certificate, { UDID });
    await enrolling.enroll({ SerialNumber: MACHINE.SERIAL ?? '' });
    const columns = ['udid', 'serial_number', 'enrollment_state', 'enrollment_method'];
    expect(await app.db.knex('devices').select(columns)).toEqual([
      {
        udid: UDID,
        serial_number: 'C02PROGRAM1',
        enrollment_state: 'enrolled',
        enrollment_method: 'ota',
      },
    ]);
    expect((await authenticate(app, identity)).status).toBe(403);
    expect(lastRefusal()).toMatch(/^the device has already enrolled with this request/);
    expect((await askForCertificate(app, enrollment)).status).toBe('failure');
  });

  it.each([
    ['serial number', { SERIAL: 'C02ANOTHER1' }],
    ['UDID', { UDID: '00008101-000000000000001E' }],
  ])('refuses a device whose %s has changed', async (_name, facts) => {
    const { identity } = await begun();
    const before = await dumpRows(app.db);
    const answer = await authenticate(app, identity, facts);
    expect([answer.status, answer.body.toString()]).toEqual([
      403,
      'the device is not the one that began\n',
    ]);
    const now = { UDID, SERIAL: 'C02PROGRAM1', ...facts };
    expect(lastRefusal()).toBe(`${now.SERIAL} (${now.UDID}) instead of C02PROGRAM1 (${UDID})`);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('refuses a certificate of an exchange that was revoked, or has expired', async () => {
    const { identity } = await begun();
    const certificate = app.db.knex('certificates').where({
      fingerprint: identity.certificate.fingerprint,
    });
    await certificate.clone().update({ revoked_at: new Date() });
    expect((await authenticate(app, identity)).status).toBe(403);
    expect(lastRefusal()).toMatch(/^the certificate was revoked/);
    await certificate.clone().update({ revoked_at: null });
    await app.db.knex('enrollment_requests').update({ expires_at: new Date() });
    expect((await authenticate(app, identity)).status).toBe(403);
    expect(lastRefusal()).toMatch(/^the request has expired/);
  });

  it('accepts the last certificate of several from the first phase, and none of them enrolls', async () => {
    const CHALLENGE = await otaChallenge(app);
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => authenticate(app, device, { CHALLENGE })),
    );
    const identities: Identity[] = [];
    for (const answer of answers) identities.push(await identityFrom(app, answer));
    const statuses: number[] = [];
    for (const identity of identities) {
      statuses.push((await authenticate(app, identity)).status);
      const { certificate, ...keys } = identity;
      const eager = new TestDevice(app.url, keys, certificate, { UDID });
      expect((await eager.authenticate({ SerialNumber: 'C02PROGRAM1' })).status).toBe(403);
    }
    expect(statuses).toEqual([403, 403, 200]);
    // Also as if the others had stayed good.
    await app.db.knex('certificates').update({ revoked_at: null, revocation_reason: null });
    await app.db.knex('device_identities').delete();
    for (const { certificate, ...keys } of identities) {
      const eager = new TestDevice(app.url, keys, certificate, { UDID });
      expect((await eager.authenticate({ SerialNumber: 'C02PROGRAM1' })).status).toBe(403);
    }
    expect(await app.db.knex('devices').select()).toEqual([]);
  });

  it('refuses the certificate that came with the enrollment profile', async () => {
    const { identity } = await begun();
    const enrolling = await identityFrom(app, await authenticate(app, identity));
    expect((await authenticate(app, enrolling)).status).toBe(403);
    expect((await authenticate(app, identity)).status).toBe(200);
  });

  it('does not enroll a device by the certificate of the exchange itself', async () => {
    const { identity } = await begun();
    const { certificate, privateKey, publicKey } = identity;
    const eager = new TestDevice(app.url, { privateKey, publicKey }, certificate, { UDID });
    expect((await eager.authenticate({ SerialNumber: 'C02PROGRAM1' })).status).toBe(403);
    expect(await app.db.knex('devices').select()).toEqual([]);
  });
});
