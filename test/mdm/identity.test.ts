import { randomUUID } from 'node:crypto';
import { derOid, derSequence } from '../../src/crypto/asn1/der.js';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { generateEcKeyPair } from '../../src/crypto/keys/keys.js';
import {
  type IssueCertificateOptions,
  issueCertificate,
  parseCertificate,
} from '../../src/crypto/x509/certificate.js';
import { type Identity, identityOf, rsaIdentity } from '../crypto/identities.js';
import { withOuterAlgorithm } from '../crypto/x509/two-algorithms.js';
import { startApp, type TestApp } from '../helpers/app.js';
import {
  commandIn,
  createTestDevice,
  deviceKeys,
  issueIdentity,
  TestDevice,
} from '../helpers/device.js';
import { dumpRows } from './rows.js';

const DAY = 86_400_000;

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { IDENTITY_GRACE: 'off' } });
});
afterAll(() => app.stop());

/** A device whose certificate our CA's key signed, but for what is said otherwise. */
async function deviceWith(overrides: Partial<IssueCertificateOptions>): Promise<TestDevice> {
  const keys = await deviceKeys();
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Device' }],
    publicKey: keys.publicKey,
    issuer: app.authority.certificate,
    issuerKey: app.authority.privateKey,
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + DAY),
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [Oid.clientAuth],
    ...overrides,
  });
  return new TestDevice(app.url, keys, parseCertificate(der), { UDID: randomUUID() });
}

describe('Authenticate gets 400 and stores nothing with a certificate', () => {
  let namesake: Identity;

  beforeAll(async () => {
    const { commonName = '' } = app.authority.certificate;
    namesake = await rsaIdentity({
      subject: [{ type: 'CN', value: commonName }],
      isCa: true,
      keyUsage: ['keyCertSign'],
    });
  });

  it.each<[string, () => Partial<IssueCertificateOptions>]>([
    ['that has expired', () => ({ notAfter: new Date(Date.now() - 1000) })],
    ['that is not valid yet', () => ({ notBefore: new Date(Date.now() + DAY / 2) })],
    ['that is meant for servers', () => ({ extendedKeyUsage: [Oid.serverAuth] })],
    ['that may not sign', () => ({ keyUsage: ['keyEncipherment'] })],
    [
      'of a CA with the same name but another key',
      () => ({ issuer: namesake.certificate, issuerKey: namesake.privateKey }),
    ],
    ['signed by nobody but itself', () => ({ issuerKey: namesake.privateKey })],
  ])('%s', async (_what, overrides) => {
    const device = await deviceWith(overrides());
    const before = await dumpRows(app.db);
    const reply = await device.authenticate();
    expect([reply.status, reply.body.length]).toEqual([400, 0]);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('that is self-signed', async () => {
    const { certificate, ...keys } = identityOf(await deviceKeys());
    const device = new TestDevice(app.url, keys, certificate, { UDID: randomUUID() });
    expect((await device.authenticate()).status).toBe(400);
  });

  it("that is the CA's own", async () => {
    const { certificate, privateKey } = app.authority;
    const keys = { privateKey, publicKey: certificate.publicKey };
    const device = new TestDevice(app.url, keys, certificate, { UDID: randomUUID() });
    expect((await device.authenticate()).status).toBe(400);
  });

  it('whose key did not sign', async () => {
    const { publicKey } = await generateEcKeyPair('P-256');
    const certificate = issueIdentity(app.authority, { ...(await deviceKeys()), publicKey });
    const device = (await createTestDevice(app)).with(certificate);
    expect((await device.authenticate()).status).toBe(400);
  });
});

describe('a certificate of Muster', () => {
  it('enrolls with as little as one day to live', async () => {
    const device = await deviceWith({});
    await device.enroll();
    expect(commandIn(await device.idle())?.command.RequestType).toBe('DeviceInformation');
  });

  it('is refused once it has expired', async () => {
    const device = await deviceWith({ notAfter: new Date(Date.now() + 1500) });
    await device.enroll();
    // Certificates have times in whole seconds.
    await new Promise((resolve) => setTimeout(resolve, 1600));
    expect((await device.idle()).status).toBe(400);
  });

  it.each([
    ['SHA-1', { digest: 'sha1' as const }],
    ['SHA-256 without signed attributes', { attributes: false }],
    ['SHA-1 without signed attributes', { digest: 'sha1' as const, attributes: false }],
  ])('may sign by %s', async (_what, signing) => {
    const device = await (await createTestDevice(app)).enroll();
    const message = { Status: 'Idle', ...device.ids };
    expect((await device.send(message, { signing })).status).toBe(200);
  });

  it.each(['P-256', 'P-384'] as const)('may have an elliptic key of %s', async (curve) => {
    const keys = await generateEcKeyPair(curve);
    const certificate = issueIdentity(app.authority, keys);
    const device = new TestDevice(app.url, keys, certificate, { UDID: randomUUID() });
    await device.enroll();
    expect((await device.idle()).status).toBe(200);
  });

  it('that was revoked before its first use enrolls nothing', async () => {
    const device = await createTestDevice(app);
    const { der, fingerprint, subject, issuer, serialHex, notBefore, notAfter } =
      device.certificate;
    await app.db.knex('certificates').insert({
      purpose: 'mdm.device',
      subject,
      issuer,
      serial: serialHex,
      der,
      not_before: notBefore,
      not_after: notAfter,
      fingerprint,
      revoked_at: new Date(),
    });
    const before = await dumpRows(app.db);
    const reply = await device.authenticate();
    expect([reply.status, reply.body.length]).toEqual([403, 0]);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('is refused as a copy whose unsigned algorithm has another form, for it would be another pin', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const { der } = device.certificate;
    const copy = parseCertificate(withOuterAlgorithm(der, derSequence(derOid(Oid.sha256WithRsa))));
    expect(copy.tbs).toEqual(device.certificate.tbs);
    const before = await dumpRows(app.db);
    const copied = device.with(copy).as({ UDID: randomUUID() });
    expect((await copied.authenticate()).status).toBe(400);
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('enrolls one of two devices that present it at the same moment', async () => {
    const one = await createTestDevice(app);
    const both = [one, one.as({ UDID: randomUUID() })];
    await Promise.all(both.map((device) => device.authenticate()));
    const replies = await Promise.all(both.map((device) => device.tokenUpdate()));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 403]);
    const { fingerprint } = one.certificate;
    expect(await app.db.knex('device_identities').where({ fingerprint })).toHaveLength(1);
  });

  it('enrolls a device once when it sends its messages many times at once', async () => {
    const device = await createTestDevice(app);
    const all = await Promise.all(Array.from({ length: 8 }, () => device.authenticate()));
    expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200));
    await Promise.all(Array.from({ length: 8 }, () => device.tokenUpdate()));
    const rows = await app.db.knex('devices').where({ udid: device.udid });
    expect(rows).toMatchObject([{ is_enrolled: true }]);
    const commands = await app.db.knex('commands').where({ device_id: rows[0].id });
    expect(commands).toHaveLength(5);
  });

  it('enrolls many devices at once', async () => {
    const devices = await Promise.all(Array.from({ length: 40 }, () => createTestDevice(app)));
    await Promise.all(devices.map((device) => device.enroll()));
    const offers = await Promise.all(devices.map(async (device) => commandIn(await device.idle())));
    expect(new Set(offers.map((offer) => offer?.uuid)).size).toBe(40);
    for (const offer of offers) expect(offer?.command.RequestType).toBe('DeviceInformation');
  });
});
