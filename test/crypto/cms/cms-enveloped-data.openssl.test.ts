import { encodePem } from '../../../src/crypto/asn1/pem.js';
import {
  type ContentAlgorithm,
  type GcmAlgorithm,
  openEnvelopedData,
  sealEnvelopedData,
} from '../../../src/crypto/cms/cms-enveloped-data.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { codeOf, type Identity, rsaIdentity } from '../identities.js';
import { type OpenSsl, openSsl } from '../openssl.js';

const content = Buffer.from('<plist><string>Grüße\r\n</string></plist>\n');
const algorithms: (ContentAlgorithm | GcmAlgorithm)[] = [
  'aes-128-cbc',
  'aes-192-cbc',
  'aes-256-cbc',
  'des-ede3-cbc',
  'aes-128-gcm',
  'aes-192-gcm',
  'aes-256-gcm',
];
const oaep = ['-keyopt', 'rsa_padding_mode:oaep'];

describe('enveloped CMS with OpenSSL', () => {
  let tool: OpenSsl;
  let recipient: Identity;
  let other: Identity;

  beforeAll(async () => {
    tool = openSsl();
    [recipient, other] = [await rsaIdentity(), await rsaIdentity()];
    tool.write('content', content);
    for (const [name, { certificate, privateKey }] of Object.entries({ recipient, other })) {
      tool.write(`${name}.pem`, encodePem('CERTIFICATE', certificate.der));
      tool.write(`${name}.key`, encodePem('PRIVATE KEY', exportPrivateKey(privateKey)));
    }
  });
  afterAll(() => tool.remove());

  const decrypt = (name: string, der: Buffer): Buffer => {
    tool.write('sealed', der);
    const who = ['-recip', `${name}.pem`, '-inkey', `${name}.key`];
    return tool.run('cms', '-decrypt', '-binary', '-inform', 'DER', '-in', 'sealed', ...who);
  };

  const encrypt = (algorithm: string, ...args: string[]): Buffer => {
    const cipher = algorithm === 'des-ede3-cbc' ? '-des3' : `-${algorithm}`;
    const files = ['-outform', 'DER', '-in', 'content', cipher];
    return tool.run('cms', '-encrypt', '-binary', ...files, ...args);
  };

  /** By the wrong key: a stand-in for the content key leaves right padding once in 256 times. */
  const opensForOther = (der: Buffer): boolean =>
    codeOf(() => openEnvelopedData(der, other)) === undefined &&
    openEnvelopedData(der, other).equals(content);

  const altered = (der: Buffer): Buffer => {
    const copy = Buffer.from(der);
    copy[copy.length - 1] = (copy[copy.length - 1] ?? 0) ^ 1;
    return copy;
  };

  it.each(algorithms)('each side opens what the other seals with %s', (algorithm) => {
    for (const byKeyId of [false, true]) {
      const sealed = sealEnvelopedData(content, recipient.certificate, { algorithm, byKeyId });
      expect(decrypt('recipient', sealed)).toEqual(content);
    }
    for (const form of [[], ['-stream'], ['-keyid']]) {
      const der = encrypt(algorithm, ...form, 'recipient.pem');
      expect(openEnvelopedData(der, recipient)).toEqual(content);
      expect(opensForOther(der)).toBe(false);
    }
  });

  it.each(['aes-256-cbc', 'aes-256-gcm'] as const)('with RSAES-OAEP and %s', (algorithm) => {
    for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
      const options = { algorithm, oaep: digest };
      const sealed = sealEnvelopedData(content, recipient.certificate, options);
      expect(decrypt('recipient', sealed)).toEqual(content);
      for (const mask of [[], ['-keyopt', 'rsa_mgf1_md:sha1'], ['-keyopt', 'rsa_mgf1_md:sha384']]) {
        const hash = ['-keyopt', `rsa_oaep_md:${digest}`, ...mask];
        const der = encrypt(algorithm, '-recip', 'recipient.pem', ...oaep, ...hash);
        expect(openEnvelopedData(der, recipient)).toEqual(content);
        expect(opensForOther(der)).toBe(false);
      }
    }
  });

  it('opens OAEP without parameters', () => {
    const der = encrypt('aes-128-cbc', '-recip', 'recipient.pem', ...oaep);
    expect(openEnvelopedData(der, recipient)).toEqual(content);
  });

  it('refuses an OAEP label', () => {
    const label = ['-keyopt', 'rsa_oaep_label:00ff'];
    const der = encrypt('aes-128-cbc', '-recip', 'recipient.pem', ...oaep, ...label);
    expect(codeOf(() => openEnvelopedData(der, recipient))).toBe('invalid_message');
  });

  it('both refuse content under AES-GCM once it is altered', () => {
    const ours = altered(
      sealEnvelopedData(content, recipient.certificate, { algorithm: 'aes-256-gcm' }),
    );
    expect(() => decrypt('recipient', ours)).toThrow();
    expect(codeOf(() => openEnvelopedData(ours, recipient))).toBe('invalid_message');
    const theirs = altered(encrypt('aes-256-gcm', 'recipient.pem'));
    expect(codeOf(() => openEnvelopedData(theirs, recipient))).toBe('invalid_message');
  });

  it('each of several recipients opens it, by PKCS #1 v1.5 and by OAEP', () => {
    const certificates = [other.certificate, recipient.certificate];
    for (const options of [
      {},
      { byKeyId: true },
      { oaep: 'sha256', algorithm: 'aes-128-gcm' } as const,
    ]) {
      const sealed = sealEnvelopedData(content, certificates, options);
      expect(decrypt('recipient', sealed)).toEqual(content);
      expect(decrypt('other', sealed)).toEqual(content);
    }
    const der = encrypt('aes-128-cbc', '-recip', 'other.pem', ...oaep, '-recip', 'recipient.pem');
    for (const identity of [recipient, other]) {
      expect(openEnvelopedData(der, identity)).toEqual(content);
    }
  });
});
