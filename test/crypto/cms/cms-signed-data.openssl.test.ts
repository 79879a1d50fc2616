import { decodePem, decodePemBlock, encodePem } from '../../../src/crypto/asn1/pem.js';
import {
  buildCertsOnly,
  buildSignedData,
  parseSignedData,
  readCertsOnly,
  verifySignedData,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { findCertificatePath } from '../../../src/crypto/x509/certificate-path.js';
import { asAuthority, codeOf, ecIdentity, type Identity, rsaIdentity } from '../identities.js';
import { type OpenSsl, openSsl } from '../openssl.js';

const content = Buffer.from('<plist><string>Grüße\r\n</string></plist>\n');

describe('CMS with OpenSSL', () => {
  let tool: OpenSsl;
  let authority: Identity;
  let middle: Identity;
  let below: Identity;
  let signers: [string, Identity][];

  beforeAll(async () => {
    tool = openSsl();
    authority = await rsaIdentity({ ...asAuthority, pathLength: 1 });
    const subject = [{ type: 'CN', value: 'Middle' }];
    middle = await ecIdentity('P-384', { ...asAuthority, subject, issuedBy: authority });
    below = await ecIdentity('P-256', { issuedBy: middle });
    signers = [
      ['rsa', await rsaIdentity({ issuedBy: authority })],
      ['p256', await ecIdentity('P-256', { issuedBy: authority })],
      ['p384', await ecIdentity('P-384', { issuedBy: authority })],
      ['p521', await ecIdentity('P-521', { issuedBy: authority })],
    ];
    tool.write('content', content);
    tool.write('ca.pem', encodePem('CERTIFICATE', authority.certificate.der));
    tool.write('middle.pem', encodePem('CERTIFICATE', middle.certificate.der));
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
      'cms',
      '-sign',
      '-binary',
      '-outform',
      'DER',
      '-in',
      'content',
      '-nosmimecap',
      '-signer',
      `${name}.pem`,
      '-inkey',
      `${name}.key`,
      ...args,
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

  it('we verify a large message in many segments', () => {
    const large = Buffer.alloc(500_000, 'x');
    tool.write('content', large);
    const streamed = opensslSign('rsa', '-nodetach', '-stream');
    tool.write('content', content);
    expect(verifySignedData({ der: streamed }).content).toEqual(large);
  });

  it('we verify several signers, and nothing when one of them is altered', () => {
    const others = ['p256', 'p384'].flatMap((name) => [
      '-signer',
      `${name}.pem`,
      '-inkey',
      `${name}.key`,
    ]);
    const der = opensslSign('rsa', ...others, '-nodetach');
    const subjects = verifySignedData({ der }).signers.map(({ certificate }) => certificate.der);
    const expected = signers.slice(0, 3).map(([, { certificate }]) => certificate.der);
    expect(new Set(subjects.map(String))).toEqual(new Set(expected.map(String)));
    for (const { signature } of parseSignedData(der).signers) {
      const altered = Buffer.from(der);
      const at = altered.indexOf(signature) + signature.length - 1;
      altered[at] = (altered[at] ?? 0) ^ 1;
      expect(codeOf(() => verifySignedData({ der: altered }))).toBe('invalid_signature');
    }
  });

  it('OpenSSL verifies several signers of ours, each with a key of another kind', () => {
    const [[, signer] = [], ...rest] = signers;
    if (signer === undefined) throw new Error('no signer');
    const cosigners = rest.map(([, identity]) => identity);
    for (const byKeyId of [false, true]) {
      for (const attributes of [false, true]) {
        const der = buildSignedData({ content, signer, cosigners, byKeyId, attributes });
        tool.write('message', der);
        expect(opensslVerify('-purpose', 'any', '-in', 'message')).toEqual(content);
        expect(verifySignedData({ der }).signers.length).toBe(4);
        const [last] = parseSignedData(der).signers.slice(-1);
        if (last === undefined) throw new Error('no signer');
        const at = der.indexOf(last.signature) + last.signature.length - 1;
        der[at] = (der[at] ?? 0) ^ 1;
        tool.write('message', der);
        expect(() => opensslVerify('-purpose', 'any', '-in', 'message')).toThrow();
      }
    }
  });

  it('we find the certificate of a signer among further certificates when the message lacks it', () => {
    for (const [name, { certificate }] of signers) {
      const der = opensslSign(name, '-nodetach', '-nocerts');
      expect(parseSignedData(der).certificates).toEqual([]);
      expect(codeOf(() => verifySignedData({ der }))).toBe('invalid_signature');
      const certificates = signers.map(([, one]) => one.certificate);
      const [signer] = verifySignedData({ der, certificates }).signers;
      expect(signer.certificate).toBe(certificate);
    }
  });

  it('we find the chain that OpenSSL embeds, and OpenSSL the one that we do', () => {
    const der = opensslSign('rsa', '-nodetach', '-certfile', 'middle.pem');
    const path = findCertificatePath(verifySignedData({ der }).signers[0].certificate, {
      anchors: [authority.certificate],
      at: new Date(),
    });
    expect(path?.length).toBe(2);
    const embedded = verifySignedData({ der }).certificates.map((one) => one.der);
    expect(new Set(embedded.map(String))).toEqual(
      new Set([signers[0]?.[1].certificate.der, middle.certificate.der].map(String)),
    );
    const certificates = [middle.certificate];
    tool.write('message', buildSignedData({ content, signer: below, certificates }));
    expect(opensslVerify('-purpose', 'any', '-in', 'message')).toEqual(content);
    tool.write('message', buildSignedData({ content, signer: below }));
    expect(() => opensslVerify('-purpose', 'any', '-in', 'message')).toThrow();
  });

  it('we read the PEM of OpenSSL, and OpenSSL ours', () => {
    const pem = opensslSign('p256', '-nodetach', '-outform', 'PEM').toString();
    const der = decodePemBlock(pem, 'CMS');
    expect(verifySignedData({ der }).content).toEqual(content);
    tool.write('message.pem', encodePem('PKCS7', der));
    const args = ['-CAfile', 'ca.pem', '-purpose', 'any', '-in', 'message.pem'];
    expect(tool.run('smime', '-verify', '-binary', '-inform', 'PEM', ...args)).toEqual(content);
  });

  it('we refuse MD5', () => {
    const der = opensslSign('rsa', '-nodetach', '-md', 'md5');
    expect(codeOf(() => verifySignedData({ der }))).toBe('invalid_signature');
  });

  it('we read the bundle of certificates that OpenSSL makes', () => {
    const files = ['rsa', 'p256', 'p384'].flatMap((name) => ['-certfile', `${name}.pem`]);
    const expected = signers.slice(0, 3).map(([, { certificate }]) => certificate.der);
    for (const form of ['DER', 'PEM']) {
      const bundle = tool.run('crl2pkcs7', '-nocrl', ...files, '-outform', form);
      expect(readCertsOnly(bundle).map(({ der }) => der)).toEqual(expected);
    }
  });

  it('OpenSSL lists the certificates of a bundle in our order', () => {
    tool.write('bundle', buildCertsOnly(signers.map(([, { certificate }]) => certificate)));
    const listed = tool.run('pkcs7', '-inform', 'DER', '-in', 'bundle', '-print_certs');
    const found = decodePem(listed.toString()).map(({ der }) => der);
    expect(found).toEqual(signers.map(([, { certificate }]) => certificate.der));
  });
});
