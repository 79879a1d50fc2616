import { Oid } from '../../src/crypto/asn1/oids.js';
import { issueCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { renewalTime } from '../../src/pki/authority/authority.js';
import { askForIdentity, fetchCommand, profileIn, runRenewals } from '../enroll/renewal-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, deviceKeys, type TestDevice } from '../helpers/device.js';
import { ALL_MESSAGES, expectEmpty, expectPlainRefusal } from './conversation.js';
import { recordsOf } from './records.js';
import { dumpRows } from './rows.js';

const DAY_MS = 86_400_000;
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, pinOf } = recordsOf(() => app);

function pins() {
  return app.db.knex('device_identities');
}

/** Issued by the app's CA, which is some minutes old itself. */
async function identityUntil(notAfter: Date) {
  const { authority } = app;
  const { publicKey } = await deviceKeys();
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Old device' }],
    publicKey,
    notAfter,
    notBefore: new Date(notAfter.getTime() - 300 * DAY_MS),
    issuer: authority.certificate,
    issuerKey: authority.privateKey,
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [Oid.clientAuth],
  });
  return parseCertificate(der);
}

/** An enrolled device whose identity has ended a minute ago. */
async function expiredDevice(): Promise<TestDevice> {
  const device = await (await createTestDevice(app)).enroll();
  await fetchCommand(device, 'none');
  await app.waitForReports();
  const certificate = await identityUntil(new Date(Date.now() - 60_000));
  const { fingerprint } = device.certificate;
  await pins()
    .where({ fingerprint })
    .update({
      fingerprint: certificate.fingerprint,
      not_after: certificate.notAfter,
      renew_at: renewalTime(certificate),
    });
  return device.with(certificate);
}

describe('the time for renewal', () => {
  it('is when a third of the life is left', () => {
    const notBefore = new Date('2026-01-01T00:00:00Z');
    const notAfter = new Date('2026-12-27T00:00:00Z');
    expect(renewalTime({ notBefore, notAfter })).toEqual(new Date('2026-08-29T00:00:00Z'));
  });
});

describe('the pin of an identity', () => {
  it('stores the lifetime of the identity', async () => {
    const device = await createTestDevice(app);
    await device.authenticate();
    const { notAfter } = device.certificate;
    expect(await pinOf(device)).toMatchObject({
      state: 'active',
      not_after: notAfter,
      renew_at: renewalTime(device.certificate),
    });
  });

  it('stores a missing lifetime at the next Authenticate', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await pins().update({ not_after: null, renew_at: null });
    expectEmpty(await device.authenticate());
    expect(await pinOf(device)).toMatchObject({ not_after: device.certificate.notAfter });
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 1, is_enrolled: true });
  });
});

describe('a revoked identity', () => {
  it('is refused with a plain 403 for every message, and nothing changes', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await pins()
      .where({ fingerprint: device.certificate.fingerprint })
      .update({ state: 'revoked' });
    const before = await dumpRows(app.db);
    for (const [, say] of ALL_MESSAGES) expectPlainRefusal(await say(device));
    expect(await dumpRows(app.db)).toEqual(before);
    expect(app.logText()).toContain('the certificate may not enroll this device: revoked');
  });

  it('stays revoked when its device is deleted', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const { fingerprint } = device.certificate;
    await pins().where({ fingerprint }).update({ state: 'revoked' });
    const { id } = await rowOf(device);
    expect((await adminApi(app).delete(`/devices/${id}`)).status).toBe(204);
    for (const [, say] of ALL_MESSAGES) expectPlainRefusal(await say(device));
    expect(await pinOf(device)).toMatchObject({ state: 'revoked', device_id: null });
    expect(await rowOf(device)).toBeUndefined();
  });
});

describe('an identity that has expired', () => {
  it('does not enroll a new device', async () => {
    const device = await createTestDevice(app);
    const expired = device.with(await identityUntil(new Date(Date.now() - 60_000)));
    expectPlainRefusal(await expired.authenticate());
    expect(await rowOf(device)).toBeUndefined();
  });

  it('can still be renewed by its enrolled device', async () => {
    const old = await expiredDevice();
    await runRenewals(app);
    const offered = await fetchCommand(old, 'InstallProfile');
    const device = old.with(await askForIdentity(app, profileIn(offered?.command ?? {})));
    expectEmpty(await device.authenticate());
    expectEmpty(await device.tokenUpdate());
    expectEmpty(await device.report(offered?.uuid ?? ''));
    expect(await pinOf(device)).toMatchObject({ state: 'active' });
    expect(await pinOf(old)).toMatchObject({ state: 'superseded' });
    expect(await rowOf(device)).toMatchObject({ enrollment_number: 1, is_enrolled: true });
    expectPlainRefusal(await old.idle());
  });
});
