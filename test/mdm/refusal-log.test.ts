import { issueCertificate, parseCertificate } from '../../src/crypto/x509/certificate.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { nextKeys } from '../helpers/prepared-keys.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const fingerprintOf = ({ certificate }: TestDevice) =>
  certificate.fingerprint.toString('hex').slice(0, 16);

async function idOf({ udid }: TestDevice): Promise<number> {
  return (await app.db.knex('devices').where({ udid }).first('id')).id;
}

/** The only line that `work` brings. */
async function lineOf(work: () => Promise<unknown>) {
  const before = app.logLines.length;
  await work();
  const lines = app.logLines.slice(before);
  expect(lines).toHaveLength(1);
  return lines[0];
}

describe('the log of a message that is refused', () => {
  it('names the device, its certificate and the message of one that is not enrolled', async () => {
    const device = await createTestDevice(app);
    const { udid } = device;
    const fingerprint = fingerprintOf(device);
    expect(await lineOf(() => device.idle())).toMatchObject({
      msg: 'device request refused',
      status: 403,
      messageType: 'Idle',
      udid,
      fingerprint,
    });
    expect(await lineOf(() => device.tokenUpdate({ UserID: 'U-1' }))).toMatchObject({
      messageType: 'TokenUpdate',
      udid,
      fingerprint,
      user: 'U-1',
    });
  });

  it('the log names the record that the certificate belongs to, and the serial number that is claimed', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const other = device.as({ UDID: 'ANOTHER-UDID' });
    const deviceId = await idOf(device);
    const fingerprint = fingerprintOf(device);
    expect(await lineOf(() => other.idle())).toMatchObject({
      status: 403,
      udid: 'ANOTHER-UDID',
      deviceId,
      fingerprint,
    });
    const said = await lineOf(() => other.authenticate({ SerialNumber: 'C02ABC' }));
    expect(said).toMatchObject({ status: 403, messageType: 'Authenticate', serial: 'C02ABC' });
  });

  it('names a user enrollment by its EnrollmentID', async () => {
    const device = await createTestDevice(app, { EnrollmentID: 'ENROLLMENT-1' });
    const line = await lineOf(() => device.idle());
    expect(line).toMatchObject({ enrollmentId: 'ENROLLMENT-1', messageType: 'Idle' });
    expect(line).not.toHaveProperty('udid');
  });

  it('names the ids that the message claims when the certificate is of an unknown CA', async () => {
    const device = await createTestDevice(app);
    const keys = await nextKeys();
    const certificate = parseCertificate(
      issueCertificate({
        subject: [{ type: 'CN', value: 'Outsider' }],
        publicKey: keys.publicKey,
        issuerKey: keys.privateKey,
        notBefore: new Date(Date.now() - 60_000),
        notAfter: new Date(Date.now() + 60_000),
        keyUsage: ['digitalSignature'],
      }),
    );
    const signer = { certificate, privateKey: keys.privateKey };
    const body = { MessageType: 'CheckOut', UDID: device.udid };
    const line = await lineOf(() => device.send(body, { signing: { signer } }));
    expect(line).toMatchObject({
      status: 400,
      code: 'invalid_signature',
      messageType: 'CheckOut',
      udid: device.udid,
      fingerprint: certificate.fingerprint.toString('hex').slice(0, 16),
    });
  });

  it('is one line for a message that cannot be read', async () => {
    const device = await createTestDevice(app);
    const line = await lineOf(() => device.send(Buffer.from('no plist')));
    expect(line).toMatchObject({ status: 400, fingerprint: fingerprintOf(device) });
    const signed = device.sign(buildPlist({ UDID: device.udid }));
    const broken = await lineOf(() => device.send(Buffer.from('other'), { signature: signed }));
    expect(broken).toMatchObject({ status: 400, code: 'invalid_signature' });
    expect(broken).not.toHaveProperty('udid');
  });
});

it('the log names the device that was answered 403 because its enrollment is over', async () => {
  const device = await (await createTestDevice(app)).enroll();
  await device.checkOut();
  const line = await lineOf(() => device.idle());
  expect(line).toMatchObject({
    msg: 'answered 403: the device is no longer enrolled',
    messageType: 'Idle',
    udid: device.udid,
    fingerprint: fingerprintOf(device),
  });
});
