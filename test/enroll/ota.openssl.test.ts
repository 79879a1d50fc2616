import { join } from 'node:path';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../src/crypto/keys/keys.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { MACHINE, UDID } from '../dep/asking-device.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { TestDevice } from '../helpers/device.js';
import { certificatePem } from '../mdm/certified-device.js';
import { attributes, identityFrom, otaChallenge, post, profileIn } from './ota-fixture.js';

/** A CA in the manner of Apple's, an intermediate below it, and a device that it has certified. */
function makeDevice(openssl: OpenSsl): void {
  const rsa = ['-newkey', 'rsa:2048', '-nodes'];
  const ca = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=keyCertSign'];
  openssl.run(
    'req',
    '-x509',
    ...rsa,
    '-keyout',
    'root.key',
    '-out',
    'root.pem',
    '-days',
    '2',
    '-subj',
    '/O=Example/CN=Device Root',
    ...ca,
  );
  openssl.run(
    'req',
    '-x509',
    ...rsa,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/O=Example/CN=Device CA',
    '-CA',
    'root.pem',
    '-CAkey',
    'root.key',
    ...ca,
  );
  openssl.run(
    'req',
    '-x509',
    ...rsa,
    '-keyout',
    'device.key',
    '-out',
    'device.pem',
    '-days',
    '2',
    '-subj',
    `/CN=${UDID}`,
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-addext',
    'keyUsage=critical,digitalSignature',
    '-addext',
    'basicConstraints=CA:FALSE',
  );
}

describe('enrollment over the air of what OpenSSL has signed', () => {
  let openssl: OpenSsl;
  let app: TestApp;

  beforeAll(async () => {
    openssl = openSsl();
    makeDevice(openssl);
    const DEVICE_CA_FILE = join(openssl.directory, 'root.pem');
    app = await startApp({ isSweeping: false, env: { DEVICE_CA_FILE } });
  });
  afterAll(async () => {
    await app.stop();
    openssl.remove();
  });

  function sign(content: Buffer, signer: string, ...options: string[]): Buffer {
    openssl.write('content', content);
    return openssl.run(
      'cms',
      '-sign',
      '-in',
      'content',
      '-binary',
      '-nodetach',
      '-outform',
      'DER',
      '-signer',
      `${signer}.pem`,
      '-inkey',
      `${signer}.key`,
      ...options,
    );
  }

  const exchange = (der: Buffer) => post(app, '/enroll/ota_authenticate', der);

  it.each([
    ['DER', []],
    ['BER of indefinite length', ['-stream']],
    ['BER, over SHA-1 and without attributes', ['-stream', '-md', 'sha1', '-noattr']],
  ])('accepts %s in both phases, and enrolls the device', async (name, options) => {
    const SERIAL = `C02${name.length}EXAMPLE`;
    const facts = { ...MACHINE, SERIAL, UDID: `${UDID}-${name.length}` };
    const first = attributes({ ...facts, CHALLENGE: await otaChallenge(app) });
    const signed = sign(first, 'device', '-certfile', 'ca.pem', ...options);
    // Tag and length: indefinite where the content is streamed.
    expect(signed[1] === 0x80).toBe(options.length > 0);
    const begun = await exchange(signed);
    const identity = await identityFrom(app, begun);
    const { certificate, privateKey } = identity;
    openssl.write('identity.pem', certificatePem(certificate));
    openssl.write('identity.key', encodePem('PRIVATE KEY', exportPrivateKey(privateKey)));
    const enrollment = await exchange(sign(attributes(facts), 'identity', ...options));
    expect(profileIn(enrollment).PayloadIdentifier).toBe('dev.muster.enroll');
    const enrolled = await identityFrom(app, enrollment);
    const device = new TestDevice(app.url, enrolled, enrolled.certificate, { UDID: facts.UDID });
    await device.enroll({ SerialNumber: SERIAL });
    const row = app.db.knex('devices').where({ serial_number: SERIAL });
    expect(await row.select('enrollment_state', 'enrollment_method')).toEqual([
      { enrollment_state: 'enrolled', enrollment_method: 'ota' },
    ]);
  });

  it('accepts one step as well, and no signature without its intermediate', async () => {
    const whole = sign(attributes(), 'device', '-certfile', 'ca.pem');
    expect(profileIn(await post(app, '/enroll/profile', whole)).PayloadType).toBe('Configuration');
    const bare = sign(attributes(), 'device');
    expect((await post(app, '/enroll/profile', bare)).status).toBe(403);
    const certless = sign(attributes(), 'device', '-nocerts');
    expect((await post(app, '/enroll/profile', certless)).status).toBe(400);
  });

  it('refuses a second signer and detached content', async () => {
    const twice = sign(attributes(), 'device', '-signer', 'ca.pem', '-inkey', 'ca.key');
    expect((await post(app, '/enroll/profile', twice)).status).toBe(400);
    openssl.write('content', attributes());
    const detached = openssl.run(
      'cms',
      '-sign',
      '-in',
      'content',
      '-binary',
      '-outform',
      'DER',
      '-signer',
      'device.pem',
      '-inkey',
      'device.key',
      '-certfile',
      'ca.pem',
    );
    expect((await post(app, '/enroll/profile', detached)).status).toBe(400);
  });
});
