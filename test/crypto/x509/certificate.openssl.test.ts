import { decodePemBlock, encodePem } from '../../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { buildCsr, parseCsr } from '../../../src/crypto/x509/csr.js';
import { asAuthority, ecIdentity, type Identity, rsaIdentity } from '../identities.js';
import { type OpenSsl, openSsl } from '../openssl.js';

describe('certificates and requests with OpenSSL', () => {
  let tool: OpenSsl;
  beforeAll(() => {
    tool = openSsl();
  });
  afterAll(() => tool.remove());

  const print = (...args: string[]): string => tool.run(...args).toString();

  async function chains(): Promise<[Identity, Identity][]> {
    const rsa = await rsaIdentity(asAuthority);
    const ec = await ecIdentity('P-384', asAuthority);
    const subjectAltName = [{ type: 'ip', value: '2001:db8::1' } as const];
    const leaf = { subjectAltName, extendedKeyUsage: ['1.3.6.1.5.5.7.3.2'] };
    return [
      [rsa, await ecIdentity('P-256', { ...leaf, issuedBy: rsa })],
      [ec, await rsaIdentity({ ...leaf, issuedBy: ec })],
    ];
  }

  it('OpenSSL verifies, strictly, the certificates that we issue', async () => {
    for (const [authority, leaf] of await chains()) {
      tool.write('ca.pem', encodePem('CERTIFICATE', authority.certificate.der));
      tool.write('leaf.pem', encodePem('CERTIFICATE', leaf.certificate.der));
      const verify = ['verify', '-x509_strict', '-purpose', 'sslclient', '-CAfile', 'ca.pem'];
      expect(print(...verify, 'leaf.pem')).toBe('leaf.pem: OK\n');
      const text = print('x509', '-in', 'leaf.pem', '-noout', '-text');
      expect(text).toContain('Key Usage: critical\n                Digital Signature, Key Enc');
      expect(text).toContain('TLS Web Client Authentication');
      expect(text).toContain('IP Address:2001:DB8:0:0:0:0:0:1');
      expect(print('x509', '-in', 'ca.pem', '-noout', '-text')).toContain('CA:TRUE, pathlen:0');
    }
  });

  it('we print names as OpenSSL prints them by RFC 2253', () => {
    const subjects = [
      '/C=CH/O=Example, Inc./OU=a+b/CN= x "y"\\\\z;<w>/emailAddress=a@b.ch',
      '/DC=com/DC=example/UID=u/CN=#1',
      '/',
    ];
    for (const subject of subjects) {
      const request = ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-keyout', 'k', '-out', 'c'];
      tool.run(...request, '-subj', subject, '-days', '1');
      const certificate = parseCertificate(
        decodePemBlock(tool.read('c').toString(), 'CERTIFICATE'),
      );
      const expected = print('x509', '-in', 'c', '-noout', '-subject', '-nameopt', 'RFC2253');
      expect(`subject=${certificate.subject}\n`).toBe(expected);
    }
  });

  it('OpenSSL verifies our requests', async () => {
    for (const identity of [await rsaIdentity(), await ecIdentity('P-521')]) {
      const der = buildCsr({
        subject: [{ type: 'CN', value: 'iPad' }],
        ...identity,
        challengePassword: 'secret-1',
        keyUsage: ['digitalSignature'],
        subjectAltName: [{ type: 'dns', value: 'ipad.example.org' }],
      });
      tool.write('csr', der);
      const text = print('req', '-inform', 'DER', '-in', 'csr', '-noout', '-verify', '-text');
      expect(text).toContain('secret-1');
      expect(text).toContain('DNS:ipad.example.org');
      expect(text).toContain('Digital Signature');
    }
  });

  it('we read the requests of OpenSSL', async () => {
    for (const { privateKey, publicKey } of [await rsaIdentity(), await ecIdentity('P-256')]) {
      tool.write('key', encodePem('PRIVATE KEY', exportPrivateKey(privateKey)));
      tool.write(
        'config',
        [
          '[req]',
          'prompt=no',
          'distinguished_name=dn',
          'attributes=at',
          'req_extensions=ext',
          '[dn]',
          'O=Example',
          'CN=Mac',
          '[at]',
          'challengePassword=p4ss',
          '[ext]',
          'subjectAltName=DNS:mac.example.org',
          '',
        ].join('\n'),
      );
      for (const digest of ['-sha1', '-sha256', '-sha512']) {
        tool.run('req', '-new', '-key', 'key', '-config', 'config', digest, '-out', 'csr');
        const der = decodePemBlock(tool.read('csr').toString(), 'CERTIFICATE REQUEST');
        const csr = parseCsr(der);
        expect(csr.publicKey.equals(publicKey)).toBe(true);
        expect(csr).toMatchObject({
          subject: 'CN=Mac,O=Example',
          challengePassword: 'p4ss',
          subjectAltNames: [{ type: 'dns', value: 'mac.example.org' }],
        });
      }
    }
  });
});
