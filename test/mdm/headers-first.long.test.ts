import { randomUUID } from 'node:crypto';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { issueCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { rsaIdentity } from '../crypto/identities.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, deviceKeys, TestDevice } from '../helpers/device.js';
import { type HeldRequest, hold, within } from '../helpers/held-requests.js';

const LENGTH = 8 * 1024 * 1024;
const SOON_MS = 1_000;
const DAY = 86_400_000;

let app: TestApp;
let device: TestDevice;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  device = await (await createTestDevice(app)).enroll();
});
afterAll(() => app.stop());

/** A device whose certificate is of a CA that is not ours, though it may bear our CA's name. */
async function foreignDevice(caName: string): Promise<TestDevice> {
  const ca = await rsaIdentity({
    subject: [{ type: 'CN', value: caName }],
    isCa: true,
    keyUsage: ['keyCertSign'],
  });
  const keys = await deviceKeys();
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Device' }],
    publicKey: keys.publicKey,
    issuer: ca.certificate,
    issuerKey: ca.privateKey,
    notBefore: new Date(Date.now() - DAY),
    notAfter: new Date(Date.now() + DAY),
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: [Oid.clientAuth],
  });
  return new TestDevice(app.url, keys, parseCertificate(der), { UDID: randomUUID() });
}

const idle = () => buildPlist({ Status: 'Idle', ...device.ids });

describe('a request is refused by its headers, before its body has come, when its Mdm-Signature', () => {
  it.each<[string, () => Promise<Record<string, string>> | Record<string, string>]>([
    ['is missing', () => ({})],
    ['is no base64', () => ({ 'Mdm-Signature': '!!' })],
    ['is base64 of no CMS', () => ({ 'Mdm-Signature': Buffer.alloc(900).toString('base64') })],
    [
      'names a certificate of another CA',
      async () => ({ 'Mdm-Signature': (await foreignDevice('Another CA')).sign(idle()) }),
    ],
    [
      'names a certificate of another CA with the name of ours',
      async () => {
        const { commonName = '' } = app.authority.certificate;
        return { 'Mdm-Signature': (await foreignDevice(commonName)).sign(idle()) };
      },
    ],
  ])('%s', async (_what, headersOf) => {
    const headers = await headersOf();
    const requests: HeldRequest[] = [
      { headers, length: LENGTH },
      { headers, length: LENGTH, path: '/checkin' },
      { headers, length: LENGTH, sent: Buffer.alloc(50_000) },
      { headers, length: 200, sent: Buffer.alloc(199) },
    ];
    const held = requests.map((request) => hold(app, request));
    const statuses = await Promise.all(held.map(({ answered }) => within(answered, SOON_MS)));
    expect(statuses).toEqual([400, 400, 400, 400]);
    // The rest of the body is not waited for.
    const closed = Promise.all(held.map((one) => one.closed)).then(() => 'closed');
    expect(await within(closed, 2 * SOON_MS)).toBe('closed');
  });
});

it('a request signed with an identity of ours is read to its end', async () => {
  const body = idle();
  const headers = { 'Mdm-Signature': device.sign(body) };
  const { socket, answered } = hold(app, {
    headers,
    length: body.length,
    sent: body.subarray(0, 100),
  });
  expect(await within(answered, 500)).toBeUndefined();
  socket.write(body.subarray(100));
  expect(await within(answered, SOON_MS)).toBe(200);
  socket.destroy();
});

it('the log names the device that a short refused message claims to be from', async () => {
  const device = await foreignDevice('Another CA');
  const before = app.logLines.length;
  await device.idle();
  expect(app.logLines.slice(before)).toMatchObject([
    { msg: 'device request refused', status: 400, udid: device.udid, messageType: 'Idle' },
  ]);
});
