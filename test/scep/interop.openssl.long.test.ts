import { randomBytes } from 'node:crypto';
import { decodePem, encodePem } from '../../src/crypto/asn1/pem.js';
import { importPrivateKey } from '../../src/crypto/keys/keys.js';
import type { Identity } from '../../src/crypto/x509/certificate.js';
import { type ParsedCertificate, parseCertificates } from '../../src/crypto/x509/certificate.js';
import { buildPkiMessage, MessageType } from '../../src/protocol/scep/scep.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { post, type ScepServer, startScepServer } from './scep-server.js';

const CSR_CONFIG = `
[req]
prompt = no
distinguished_name = name
attributes = attributes
req_extensions = extensions
string_mask = utf8only
[name]
C = DE
O = Example GmbH
CN = Björns Mac
[attributes]
challengePassword = CHALLENGE
[extensions]
subjectAltName = DNS:mac.example.com, email:bjoern@example.com, otherName:1.3.6.1.4.1.311.20.2.3;UTF8:administrator@corp.example
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign
extendedKeyUsage = serverAuth, codeSigning
`;

describe('SCEP with messages that OpenSSL makes and reads', () => {
  let server: ScepServer;
  let openssl: OpenSsl;
  let signer: Identity;
  let caPem: string;

  beforeAll(async () => {
    server = await startScepServer();
    openssl = openSsl();
    caPem = encodePem('CERTIFICATE', server.authority.certificate.der);
    openssl.write('ca.pem', caPem);
    const selfSigned = '-x509 -newkey rsa:2048 -nodes -keyout signer.key -out signer.pem -days 2';
    openssl.run('req', ...selfSigned.split(' '), '-subj', '/CN=MDM SCEP SIGNER');
    const [certificate] = parseCertificates(openssl.read('signer.pem'));
    if (certificate === undefined) throw new Error('no signer');
    signer = { certificate, privateKey: importPrivateKey(openssl.read('signer.key')) };
  });
  afterAll(async () => {
    openssl.remove();
    await server.drop();
  });

  function makeCsr(challenge: string, newKey = ['rsa:2048']): void {
    openssl.write('csr.cnf', CSR_CONFIG.replace('CHALLENGE', challenge));
    const options =
      '-new -utf8 -config csr.cnf -nodes -keyout device.key -outform DER -out csr.der';
    openssl.run('req', ...options.split(' '), '-newkey', ...newKey);
  }

  function sealCsr(...options: string[]): Buffer {
    const command = 'cms -encrypt -binary -in csr.der -outform DER -out sealed.der'.split(' ');
    openssl.run(...command, ...options, 'ca.pem');
    return openssl.read('sealed.der');
  }

  async function exchange(envelope: Buffer, digest: 'sha1' | 'sha256' | 'sha512' = 'sha256') {
    const message = buildPkiMessage({
      messageType: MessageType.pkcsReq,
      transactionId: '140BC832976B3D03',
      senderNonce: randomBytes(16),
      envelope,
      signer,
      digest,
    });
    openssl.write('reply.der', await post(server.app, message));
  }

  /** OpenSSL verifies, decrypts and lists what the server answered. */
  function openReply(): ParsedCertificate[] {
    const verify = 'cms -verify -inform DER -in reply.der -CAfile ca.pem -purpose any -binary';
    openssl.run(...verify.split(' '), '-out', 'envelope.der');
    const decrypt = 'cms -decrypt -inform DER -in envelope.der -recip signer.pem -inkey signer.key';
    openssl.run(...decrypt.split(' '), '-binary', '-out', 'bundle.der');
    const list = openssl.run('pkcs7', '-inform', 'DER', '-in', 'bundle.der', '-print_certs');
    return decodePem(list.toString()).flatMap(({ der }) => parseCertificates(der));
  }

  const text = (...args: string[]) => openssl.run(...args).toString();

  it.each([
    ['-aes128', 'aes-128-cbc', 'sha256'],
    ['-aes256', 'aes-256-cbc', 'sha512'],
    ['-des3', 'des-ede3-cbc', 'sha1'],
  ] as const)(
    'issues for an envelope of %s and answers in the same cipher',
    async (option, cipher, digest) => {
      makeCsr(server.challenges.issueChallenge());
      await exchange(sealCsr(option), digest);
      const [leaf, ca] = openReply();
      expect(ca?.der).toEqual(server.authority.certificate.der);
      expect(leaf?.issuerRaw).toEqual(ca?.subjectRaw);
      openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf?.der ?? Buffer.alloc(0)));
      expect(
        text('verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', 'ca.pem', 'leaf.pem'),
      ).toBe('leaf.pem: OK\n');
      const shape = text('asn1parse', '-inform', 'DER', '-in', 'envelope.der');
      expect(shape).toContain(`:${cipher}`);
      expect(text('cms', '-cmsout', '-print', '-inform', 'DER', '-in', 'reply.der')).toContain(
        `algorithm: ${digest}`,
      );
    },
  );

  it('reads an envelope in BER with indefinite lengths', async () => {
    makeCsr(server.challenges.issueChallenge());
    const sealed = sealCsr('-aes256', '-stream');
    expect(sealed[1]).toBe(0x80);
    await exchange(sealed);
    expect(openReply()).toHaveLength(2);
  });

  it.each(['P-256', 'P-384'])('certifies an EC key of %s', async (curve) => {
    makeCsr(server.challenges.issueChallenge(), ['ec', '-pkeyopt', `ec_paramgen_curve:${curve}`]);
    await exchange(sealCsr('-aes128'));
    const [leaf] = openReply();
    openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf?.der ?? Buffer.alloc(0)));
    expect(text('verify', '-x509_strict', '-CAfile', 'ca.pem', 'leaf.pem')).toBe('leaf.pem: OK\n');
    expect(text('x509', '-in', 'leaf.pem', '-noout', '-pubkey')).toBe(
      text('pkey', '-in', 'device.key', '-pubout'),
    );
  });

  it('issues nothing of what the CSR asked for but its key, as OpenSSL reads it', async () => {
    const challenge = server.challenges.issueChallenge();
    makeCsr(challenge);
    await exchange(sealCsr('-aes128'));
    const [leaf] = openReply();
    openssl.write('leaf.pem', encodePem('CERTIFICATE', leaf?.der ?? Buffer.alloc(0)));
    const shown = text(
      'x509',
      '-in',
      'leaf.pem',
      '-noout',
      '-text',
      '-nameopt',
      'RFC2253,utf8,-esc_msb',
    );
    const id = server.challenges.readChallenge(challenge).nonce.toString('hex');
    expect(shown).toContain(`Subject: CN=${id},O=Muster\n`);
    expect(shown).not.toMatch(/Example GmbH|Björn|example\.com|corp\.example|Alternative Name/);
    expect(shown).not.toMatch(/Certificate Sign|Server Authentication|Code Signing/);
    expect(shown).toContain('Signature Algorithm: sha256WithRSAEncryption');
    expect(shown).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
    expect(shown).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment/);
    expect(shown).toMatch(/Extended Key Usage: \s+TLS Web Client Authentication/);
    expect(shown).toMatch(/Subject Key Identifier/);
    expect(shown).toMatch(/Authority Key Identifier/);
    expect(text('x509', '-in', 'leaf.pem', '-noout', '-pubkey')).toBe(
      text('pkey', '-in', 'device.key', '-pubout'),
    );
  });

  it('has a CA that OpenSSL accepts', () => {
    expect(text('verify', '-x509_strict', '-CAfile', 'ca.pem', 'ca.pem')).toBe('ca.pem: OK\n');
    const shown = text('x509', '-in', 'ca.pem', '-noout', '-text');
    expect(shown).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(shown).toMatch(
      /Key Usage: critical\s+Digital Signature, Key Encipherment, Certificate Sign, CRL Sign/,
    );
    expect(shown).toContain('Public-Key: (2048 bit)');
  });

  it('refuses by a failure that is signed over no content', async () => {
    makeCsr('wrong challenge');
    await exchange(sealCsr('-aes128'));
    openssl.write('empty', '');
    const verify = 'cms -verify -inform DER -in reply.der -CAfile ca.pem -purpose any -binary';
    expect(openssl.run(...verify.split(' '), '-content', 'empty')).toHaveLength(0);
    const shown = text('cms', '-cmsout', '-print', '-inform', 'DER', '-in', 'reply.der');
    const attributes = [...shown.matchAll(/object: undefined \(([\d.]+)\)\s+set:\s+(.*)/g)];
    expect(Object.fromEntries(attributes.map(([, oid, value]) => [oid, value]))).toMatchObject({
      '2.16.840.1.113733.1.9.2': 'PRINTABLESTRING:3',
      '2.16.840.1.113733.1.9.3': 'PRINTABLESTRING:2',
      '2.16.840.1.113733.1.9.4': 'PRINTABLESTRING:2',
      '2.16.840.1.113733.1.9.7': 'PRINTABLESTRING:140BC832976B3D03',
    });
    expect(shown).toMatch(/eContent: <ABSENT>/);
  });
});
