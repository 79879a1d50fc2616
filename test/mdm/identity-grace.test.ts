import { Oid } from '../../src/crypto/asn1/oids.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import {
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../src/crypto/x509/certificate.js';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { storeSealedKey } from '../../src/pki/certificates/stored-keys.js';
import { asAuthority, type Identity, rsaIdentity } from '../crypto/identities.js';
import { adminApi, MASTER_KEY, startApp, type TestApp } from '../helpers/app.js';
import { createTestDatabase } from '../helpers/database.js';
import { createTestDevice, deviceKeys, type TestDevice } from '../helpers/device.js';
import { dumpRows } from './rows.js';

const DAY = 86_400_000;
const MESSAGE = /^an identity has expired; it serves its device until /;

let app: TestApp;

let authority: Identity;

/** A CA of ours that is older than the identities of these tests. */
beforeAll(async () => {
  const database = await createTestDatabase();
  authority = await rsaIdentity({ ...asAuthority, notBefore: new Date(Date.now() - 500 * DAY) });
  const { certificate, privateKey: key } = authority;
  await database.db.knex.transaction(async (trx) => {
    const box = new SecretBox(MASTER_KEY);
    const rsa_private_key_id = await storeSealedKey(trx, box, { key, name: null });
    const record = certificateRecord(certificate, 'mdm.cacert');
    await insertCertificate(trx, { ...record, rsa_private_key_id });
  });
  app = await startApp({ database, isSweeping: false });
});
afterAll(() => app.stop());

/** An identity of ours whose time was up so many days ago. */
async function expired(days: number): Promise<ParsedCertificate> {
  const notAfter = new Date(Math.floor(Date.now() / 1000) * 1000 - days * DAY);
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Device' }],
    publicKey: (await deviceKeys()).publicKey,
    issuer: authority.certificate,
    issuerKey: authority.privateKey,
    notBefore: new Date(notAfter.getTime() - 100 * DAY),
    notAfter,
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [Oid.clientAuth],
  });
  return parseCertificate(der);
}

/** Enrolled long ago, so to say. */
async function deviceWith(certificate: ParsedCertificate): Promise<TestDevice> {
  const device = await (await createTestDevice(app)).enroll();
  const { fingerprint } = device.certificate;
  await app.db
    .knex('device_identities')
    .where({ fingerprint })
    .update({ fingerprint: certificate.fingerprint });
  return device.with(certificate);
}

function warnings() {
  return app.logLines.filter(({ msg }) => MESSAGE.test(msg));
}

it('an identity beyond the grace is refused like any that has expired: 400', async () => {
  const device = await deviceWith(await expired(91));
  const before = await dumpRows(app.db);
  for (const reply of [await device.idle(), await device.authenticate()]) {
    expect([reply.status, reply.body.length]).toEqual([400, 0]);
  }
  expect(await dumpRows(app.db)).toEqual(before);
  expect(warnings()).toEqual([]);
});

it('an expired identity enrolls nobody: 403, and nothing is stored', async () => {
  const device = (await createTestDevice(app)).with(await expired(2));
  const before = await dumpRows(app.db);
  const reply = await device.authenticate();
  expect([reply.status, reply.body.length]).toEqual([403, 0]);
  expect(await dumpRows(app.db)).toEqual(before);
});

it.each<[string, Record<string, unknown>]>([
  ['has unenrolled', { enrollment_state: 'unenrolled', is_enrolled: false }],
  ['is to enroll by a program of Apple', { enrollment_state: 'dep', is_enrolled: false }],
  ['was never enrolled', { enrollment_state: null, is_enrolled: false }],
])('an expired identity begins no enrollment of its device that %s', async (_what, columns) => {
  const device = await deviceWith(await expired(4));
  await app.db.knex('devices').where({ udid: device.udid }).update(columns);
  const before = await dumpRows(app.db);
  const reply = await device.authenticate();
  expect([reply.status, reply.body.length]).toEqual([403, 0]);
  expect(await dumpRows(app.db)).toEqual(before);
  expect(app.logText()).toContain('may not enroll this device: untrusted_issuer');
});

it('an expired identity of a device that was deleted does not bring it back', async () => {
  const device = await deviceWith(await expired(5));
  const { id } = await app.db.knex('devices').where({ udid: device.udid }).first('id');
  expect((await adminApi(app).delete(`/devices/${id}`)).status).toBe(204);
  expect((await device.authenticate()).status).toBe(403);
  expect(await app.db.knex('devices').where({ udid: device.udid })).toEqual([]);
});

it.each(['enrolled', 'authenticated'])(
  'an expired identity keeps working when %s',
  async (state) => {
    const device = await deviceWith(await expired(6));
    const columns = { enrollment_state: state, is_enrolled: state === 'enrolled' };
    await app.db.knex('devices').where({ udid: device.udid }).update(columns);
    expect((await device.authenticate()).status).toBe(200);
    expect((await device.tokenUpdate()).status).toBe(200);
    const row = await app.db.knex('devices').where({ udid: device.udid }).first();
    expect(row).toMatchObject({ enrollment_state: 'enrolled', is_enrolled: true });
  },
);

it('an expired identity that is pinned still identifies its device, with one warning', async () => {
  const certificate = await expired(3);
  const device = await deviceWith(certificate);
  for (const reply of [await device.idle(), await device.tokenUpdate(), await device.idle()]) {
    expect(reply.status).toBe(200);
  }
  const fingerprint = certificate.fingerprint.toString('hex');
  const servesUntil = new Date(certificate.notAfter.getTime() + 90 * DAY).toISOString();
  expect(warnings().filter((line) => line.fingerprint === fingerprint)).toMatchObject([
    {
      level: 40,
      msg: `an identity has expired; it serves its device until ${servesUntil}`,
      subject: 'CN=Device',
      servesUntil,
    },
  ]);
});
