import { openEnvelopedData, sealEnvelopedData } from '../../src/crypto/cms-enveloped-data.js';
import {
  buildCertsOnly,
  buildSignedData,
  verifySignedData,
} from '../../src/crypto/cms-signed-data.js';
import { exportPrivateKey } from '../../src/crypto/keys.js';
import { decodePem, encodePem } from '../../src/crypto/pem.js';
import { asAuthority, codeOf, ecIdentity, type Identity, rsaIdentity } from './identities.js';
import { type OpenSsl, openSsl } from './openssl.js';

const content = Buffer.from('<plist><string>Grüße\r\n</string></plist>\n');

describe('CMS with OpenSSL', () => {
  let tool: OpenSsl;
  let signers: [string, Identity][];

  beforeAll(async () => {
    tool = openSsl();
    const authority = await rsaIdentity(asAuthority);
    signers = [
      ['rsa', await rsaIdentity({ issuedBy: authority })],
      ['p256', await ecIdentity('P-256', { issuedBy: authority })],
      ['p384', await ecIdentity('P-384', { issuedBy: authority })],
    ];
    tool.write('content', content);
    tool.write('ca.pem', encodePem('CERTIFICATE', authority.certificate.der));
    for (const [name, { certificate, privateKey }] of signers) {
      tool.write(`${name}.pem`, encodePem('CERTIFICATE', certificate.der));
      tool.write(`${name}.key`, encodePem('PRIVATE KEY', exportPrivateKey(privateKey)));
    }
  });
  afterAll(() => tool.remove());

  const opensslVerify = (...args: string[]): Buffer =>
    tool.run('cms', '-verify', '-binary', '-inform', 'DER', '-CAfile', 'ca.pem', ...args);

  const opensslSign = (name: string, ...args: string[]): Buffer =>
    tool.run(
      ...['cms', '-sign', '-binary', '-outform', 'DER', '-in', 'content', '-nosmimecap'],
      ...['-signer', `${name}.pem`, '-inkey', `${name}.key`, ...args],
    );

  it('OpenSSL verifies what we sign, and not when it is altered', () => {
    for (const [, signer] of signers) {
      for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
        for (const attributes of [true, false]) {
          const der = buildSignedData({ content, signer, digest, attributes });
          tool.write('message', der);
          expect(opensslVerify('-purpose', 'any', '-in', 'message')).toEqual(content);
          der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
          tool.write('message', der);
          expect(() => opensslVerify('-purpose', 'any', '-in', 'message')).toThrow();
        }
      }
    }
  });

  it('OpenSSL verifies a detached signature with a key identifier and an extra attribute', () => {
    for (const [, signer] of signers) {
      const extra = { oid: '2.16.840.1.113733.1.9.7', values: [Buffer.from('13023432', 'hex')] };
      const options = { content, signer, detached: true, byKeyId: true, extraAttributes: [extra] };
      tool.write('message', buildSignedData(options));
      const args = ['-purpose', 'any', '-in', 'message', '-content', 'content'];
      expect(opensslVerify(...args)).toEqual(content);
    }
  });

  it('we verify what OpenSSL signs, in DER and streamed BER', () => {
    for (const [name, identity] of signers) {
      for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
        for (const form of [[], ['-nodetach'], ['-nodetach', '-stream'], ['-stream'], ['-keyid']]) {
          for (const attributes of [[], ['-noattr']]) {
            const der = opensslSign(name, '-md', digest, ...form, ...attributes);
            const verified = verifySignedData({ der, content });
            expect(verified.signers[0].certificate.der).toEqual(identity.certificate.der);
            expect(verified.signers[0].digestAlgorithm).toBe(digest);
            expect(verified.content).toEqual(content);
            const other = Buffer.from('other content');
            expect(codeOf(() => verifySignedData({ der, content: other }))).toBe(
              'invalid_signature',
            );
          }
        }
      }
    }
  });

  it('we verify a large message in many segments, and several signers', () => {
    const large = Buffer.alloc(500_000, 'x');
    tool.write('content', large);
    const streamed = opensslSign('rsa', '-nodetach', '-stream');
    const both = opensslSign('rsa', '-signer', 'p256.pem', '-inkey', 'p256.key', '-nodetach');
    tool.write('content', content);
    expect(verifySignedData({ der: streamed }).content).toEqual(large);
    expect(verifySignedData({ der: both }).signers.length).toBe(2);
  });

  it('we refuse MD5 and RSA-PSS', () => {
    for (const args of [
      ['-md', 'md5'],
      ['-keyopt', 'rsa_padding_mode:pss'],
    ]) {
      const der = opensslSign('rsa', '-nodetach', ...args);
      expect(codeOf(() => verifySignedData({ der }))).toBeDefined();
    }
  });

  it('OpenSSL lists the certificates of a bundle in our order', () => {
    tool.write('bundle', buildCertsOnly(signers.map(([, { certificate }]) => certificate)));
    const listed = tool.run('pkcs7', '-inform', 'DER', '-in', 'bundle', '-print_certs');
    const found = decodePem(listed.toString()).map(({ der }) => der);
    expect(found).toEqual(signers.map(([, { certificate }]) => certificate.der));
  });

  it.each(['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc'] as const)(
    'each side opens what the other seals with %s',
    (algorithm) => {
      const [[, recipient] = []] = signers;
      if (recipient === undefined) throw new Error('no recipient');
      tool.write('sealed', sealEnvelopedData(content, recipient.certificate, { algorithm }));
      const decrypt = ['cms', '-decrypt', '-binary', '-inform', 'DER', '-in', 'sealed'];
      expect(tool.run(...decrypt, '-recip', 'rsa.pem', '-inkey', 'rsa.key')).toEqual(content);
      for (const form of [[], ['-stream'], ['-keyid']]) {
        const encrypt = ['cms', '-encrypt', '-binary', '-outform', 'DER', '-in', 'content'];
        const cipher = algorithm === 'des-ede3-cbc' ? '-des3' : `-${algorithm}`;
        const der = tool.run(...encrypt, cipher, ...form, 'rsa.pem');
        expect(openEnvelopedData(der, recipient)).toEqual(content);
      }
    },
  );
});
