import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../src/config/config.js';
import { encodePem } from '../../src/crypto/asn1/pem.js';
import { checkFiles, readFactoryCas } from '../../src/server/config-files.js';
import { asAuthority, ecIdentity, fixture } from '../crypto/identities.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

describe('DEVICE_CA_FILE', () => {
  afterAll(removeTemporaryDirectories);

  function read(content: string | Buffer | undefined) {
    const cwd = temporaryDirectory();
    if (content !== undefined) writeFileSync(join(cwd, 'ca.pem'), content);
    return readFactoryCas(loadConfig({ DEVICE_CA_FILE: 'ca.pem' }, cwd));
  }

  it.each([
    ['is not there', undefined, /DEVICE_CA_FILE: .*ENOENT/],
    ['is empty', '', /DEVICE_CA_FILE: unreadable certificate/],
    [
      'holds something else',
      '-----BEGIN X-----\nAA==\n-----END X-----\n',
      /unreadable certificate/,
    ],
    [
      'holds the certificate of a device',
      fixture('cert/device.apple-iphone-device-ca.sha1.pem'),
      /DEVICE_CA_FILE: CN=6001A957-6FC5-4856-8C5E-DC2E32C61CB9 is not of a CA/,
    ],
  ])('is named when it %s', (_case, content, problem) => {
    expect(() => read(content)).toThrow(ConfigError);
    expect(() => read(content)).toThrow(problem);
  });

  it('may hold several CAs as PEM, or one as DER', async () => {
    const [one, other] = [
      await ecIdentity('P-256', asAuthority),
      await ecIdentity('P-384', asAuthority),
    ];
    const pem = [one, other].map(({ certificate }) => encodePem('CERTIFICATE', certificate.der));
    const ders = (found: ReturnType<typeof read>) => found.map(({ der }) => der);
    expect(ders(read(pem.join('\n')))).toEqual([one.certificate.der, other.certificate.der]);
    expect(ders(read(one.certificate.der))).toEqual([one.certificate.der]);
    expect(readFactoryCas(loadConfig({}, temporaryDirectory()))).toEqual([]);
  });
});

describe('the files that the configuration names', () => {
  it('are refused with everything that is wrong with any of them', () => {
    const names = [
      'TLS_CERT_FILE',
      'TLS_KEY_FILE',
      'APNS_CA_FILE',
      'DEP_CA_FILE',
      'DEVICE_CA_FILE',
    ];
    const env = Object.fromEntries(names.map((name) => [name, `missing-${name}`]));
    const config = loadConfig(env, temporaryDirectory());
    const problems = names.map((name) =>
      expect.stringMatching(`^${name}: .*ENOENT.*missing-${name}`),
    );
    expect(() => checkFiles(config)).toThrow(expect.objectContaining({ problems }));
  });
});
