import { buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import { asAuthority, ecIdentity, type Identity, identityOf } from '../crypto/identities.js';
import {
  type DepTestServer,
  deviceAuthority,
  signedBy,
  startDepTestServer,
} from '../dep/asking-device.js';
import type { TestApp } from '../helpers/app.js';
import { deviceKeys, issueIdentity } from '../helpers/device.js';
import { removeTemporaryDirectories } from '../helpers/temporary-directory.js';
import { dumpRows } from '../mdm/rows.js';
import { attributes, get, identityFrom, otaChallenge, post } from './ota-fixture.js';

const BOTH = ['/enroll/ota_authenticate', '/enroll/profile'];
const NOT_APPLE = 'the signature is not that of an Apple device\n';
const NOT_VALID = 'the signature of the device is not valid\n';
const NO_CHALLENGE = 'the enrollment challenge is not valid\n';

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

/** Posts it, and nothing must be stored for it. */
async function refused(path: string, der: Buffer): Promise<[number, string]> {
  const before = await dumpRows(app.db);
  const { status, body } = await post(app, path, der);
  expect(await dumpRows(app.db)).toEqual(before);
  return [status, body.toString()];
}

async function outsider(): Promise<Identity> {
  const subject = [{ type: 'CN' as const, value: 'Impostor' }];
  const issuedBy = await ecIdentity('P-256', { ...asAuthority, subject });
  return identityOf(await deviceKeys(), { issuedBy });
}

const lastReason = () => {
  return app.logLines.findLast(({ msg }) => msg === 'device request refused')?.reason;
};

describe.each(BOTH)('POST %s refuses', (path) => {
  const content = async () => attributes({ CHALLENGE: await otaChallenge(app) });

  it('a certificate of an unknown CA, and logs the issuer', async () => {
    const der = signedBy(await outsider(), await content());
    expect(await refused(path, der)).toEqual([403, NOT_APPLE]);
    expect(lastReason()).toMatch(/; issuer of the signer: CN=Impostor$/);
  });

  it('the device CA itself', async () => {
    const der = signedBy(await deviceAuthority(), await content());
    expect(await refused(path, der)).toEqual([403, NOT_APPLE]);
  });

  it('a certificate of our own CA, whatever it was issued for', async () => {
    const keys = await deviceKeys();
    const made = { ...keys, certificate: issueIdentity(app.authority, keys) };
    expect(await refused(path, signedBy(made, await content()))).toEqual([403, NOT_APPLE]);
    const enrolling = await identityFrom(app, await get(app, '/enroll/profile'));
    expect(await refused(path, signedBy(enrolling, await content()))).toEqual([403, NOT_APPLE]);
    expect(lastReason()).toContain(`issuer of the signer: ${app.authority.certificate.subject}`);
  });

  it('two signers, even when both are devices', async () => {
    const other = identityOf(await deviceKeys(), { issuedBy: await deviceAuthority() });
    const options = { signer: device, cosigners: [other] };
    const der = buildSignedData({ content: await content(), ...options });
    expect(await refused(path, der)).toEqual([400, NOT_VALID]);
    expect(lastReason()).toBe('more than one signer');
  });

  it('a signature without its content', async () => {
    const der = buildSignedData({ content: await content(), signer: device, detached: true });
    expect(await refused(path, der)).toEqual([400, NOT_VALID]);
  });

  it('content that was changed after it was signed', async () => {
    const der = signedBy(device, await content());
    der[der.indexOf('C02PROGRAM1')] = 0x44;
    expect(await refused(path, der)).toEqual([400, NOT_VALID]);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['noise', Buffer.from('3080020100', 'hex')],
    ['attributes that nobody signed', attributes()],
  ])('%s', async (_name, der) => {
    expect(await refused(path, der)).toEqual([400, NOT_VALID]);
  });

  it.each([
    ['no property list', 'hello'],
    ['an array', '<plist version="1.0"><array/></plist>'],
    [
      'entities',
      '<!DOCTYPE plist [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' +
        '<plist version="1.0"><dict><key>UDID</key><string>&b;</string></dict></plist>',
    ],
    [
      'an external entity',
      '<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/passwd">]>' +
        '<plist version="1.0"><dict><key>UDID</key><string>&x;</string></dict></plist>',
    ],
    ['deep nesting', `<plist version="1.0">${'<array>'.repeat(50)}`],
    ['many values', `<plist version="1.0"><array>${'<true/>'.repeat(1_000)}</array></plist>`],
  ])('signed %s', async (_name, text) => {
    const [status] = await refused(path, signedBy(device, Buffer.from(text)));
    expect(status).toBe(400);
  });

  it('more than a device would send, signed or not', async () => {
    const [status] = await refused(path, signedBy(device, Buffer.alloc(20_000, 0x20)));
    expect(status).toBe(413);
    const [another] = await refused(path, Buffer.alloc(70_000, 0x30));
    expect(another).toBe(413);
  });

  it.each([
    ['UDID', { UDID: '' }],
    ['SERIAL', { SERIAL: '' }],
  ])('a device that does not send its %s', async (name, facts) => {
    const CHALLENGE = await otaChallenge(app);
    const der = signedBy(device, attributes({ CHALLENGE, ...facts }));
    const text = `Not a valid device message: it has no ${name}\n`;
    expect(await refused(path, der)).toEqual([400, text]);
  });
});

describe('the challenge over the air is refused', () => {
  const exchange = '/enroll/ota_authenticate';
  const withChallenge = (CHALLENGE: string) => signedBy(device, attributes({ CHALLENGE }));

  it('when it is missing', async () => {
    const text = 'Not a valid device message: it has no CHALLENGE\n';
    expect(await refused(exchange, withChallenge(''))).toEqual([400, text]);
  });

  it.each([
    ['made up', () => 'guessed'],
    [
      'the one of a SCEP payload',
      () => new EnrollmentChallenges({ box: app.box }).issueChallenge(),
    ],
    [
      'of another server',
      () => {
        const box = new SecretBox(Buffer.alloc(32, 9));
        return new EnrollmentChallenges({ box, surface: 'ota' }).issueChallenge();
      },
    ],
    [
      'expired',
      () => {
        const challenges = new EnrollmentChallenges({ box: app.box, surface: 'ota' });
        return challenges.issueChallenge({ expiresAt: new Date(Date.now() - 1_000) });
      },
    ],
  ])('when it is %s', async (_name, make) => {
    expect(await refused(exchange, withChallenge(make()))).toEqual([403, NO_CHALLENGE]);
  });

  it('by SCEP, which accepts only its own', async () => {
    const challenge = await otaChallenge(app);
    const challenges = new EnrollmentChallenges({ box: app.box });
    expect(() => challenges.readChallenge(challenge)).toThrow('the enrollment challenge');
  });
});
