import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Identity } from '../crypto/identities.js';
import { type DepTestServer, signedBy, startDepTestServer, UDID } from '../dep/asking-device.js';
import type { TestApp } from '../helpers/app.js';
import { type Fields, TestDevice } from '../helpers/device.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import {
  attributes,
  challengeIn,
  identityFrom,
  otaChallenge,
  post,
  profileIn,
} from './ota-fixture.js';

const FIXTURES = join(__dirname, '..', 'fixtures', 'enroll');
const HOUR_MS = 3_600_000;

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
  for (const table of ['enrollment_requests', 'devices']) await app.db.knex(table).delete();
});

const ask = (facts: Fields = {}) =>
  post(app, '/enroll/profile', signedBy(device, attributes(facts)));

describe('a device that signs its attributes', () => {
  it('gets its enrollment profile in one step, bound to it for an hour', async () => {
    const answer = await ask();
    expect(answer.headers.get('content-type')).toBe('application/x-apple-aspen-config');
    const profile = profileIn(answer);
    expect(profile.PayloadIdentifier).toBe('dev.muster.enroll');
    expect(profile.PayloadContent.map(({ PayloadType }) => PayloadType)).toEqual([
      'com.apple.security.root',
      'com.apple.security.scep',
      'com.apple.mdm',
    ]);
    const [row, ...others] = await app.db.knex('enrollment_requests').select();
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      method: 'profile',
      udid: UDID,
      serial_number: 'C02PROGRAM1',
      product_name: 'iPhone14,5',
      os_version: '17.0',
      build_version: '21A342',
      signer: device.certificate.fingerprint,
      nonce: null,
      enrollment_link_id: null,
    });
    const { requestId, expiresAt } = challengeIn(app, answer);
    expect(requestId).toBe(row.id);
    expect(Math.abs(expiresAt.getTime() - Date.now() - HOUR_MS)).toBeLessThan(60_000);
    expect(Math.abs(expiresAt.getTime() - row.expires_at.getTime())).toBeLessThan(1_000);
  });

  it('needs no more attributes than Apple requires', async () => {
    const answer = await post(
      app,
      '/enroll/profile',
      signedBy(device, readFileSync(join(FIXTURES, 'MachineInfo.ios.plist'))),
    );
    expect(profileIn(answer).PayloadType).toBe('Configuration');
    expect(await app.db.knex('enrollment_requests').select('serial_number', 'imei')).toEqual([
      { serial_number: 'BLXLN1111111', imei: null },
    ]);
  });

  it('is refused with the answer to a challenge, which another server may have relayed', async () => {
    for (const CHALLENGE of ['of another server', await otaChallenge(app)]) {
      const { status, body } = await ask({ CHALLENGE });
      const text = 'the device signed the answer to a challenge of a Profile Service\n';
      expect([status, body.toString()]).toEqual([403, text]);
    }
    expect(await app.db.knex('enrollment_requests').select()).toEqual([]);
  });

  it('enrolls under its own identity, and under no other', async () => {
    const { certificate, privateKey, publicKey } = await identityFrom(app, await ask());
    const as = (ids: Fields) => {
      return new TestDevice(app.url, { privateKey, publicKey }, certificate, ids);
    };
    const impostor = as({ UDID: '00008101-000000000000001E' });
    expect((await impostor.authenticate({ SerialNumber: 'C02PROGRAM1' })).status).toBe(403);
    expect((await as({ UDID }).authenticate({ SerialNumber: 'C02ANOTHER1' })).status).toBe(403);
    expect(await app.db.knex('devices').select()).toEqual([]);
    await as({ UDID }).enroll({ SerialNumber: 'C02PROGRAM1' });
    expect(await app.db.knex('devices').select('udid', 'enrollment_state')).toEqual([
      { udid: UDID, enrollment_state: 'enrolled' },
    ]);
  });
});
