import { Oid } from '../../../src/crypto/asn1/oids.js';
import { decodePemBlock, encodePem } from '../../../src/crypto/asn1/pem.js';
import { buildSignedData, verifySignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { parseCertificate, parseCertificates } from '../../../src/crypto/x509/certificate.js';
import { isIssuedBy, isSignedOverSha1 } from '../../../src/crypto/x509/certificate-path.js';
import { parseCsr } from '../../../src/crypto/x509/csr.js';
import { asAuthority, codeOf, ecIdentity, type Identity, rsaIdentity } from '../identities.js';
import { type OpenSsl, openSsl } from '../openssl.js';

const content = Buffer.from('<plist/>\n');
const pss = ['rsa_padding_mode:pss'];
const salts = [[], ['rsa_pss_saltlen:0'], ['rsa_pss_saltlen:20'], ['rsa_pss_saltlen:max']];

describe('RSASSA-PSS with OpenSSL', () => {
  let tool: OpenSsl;
  let signer: Identity;

  beforeAll(async () => {
    tool = openSsl();
    signer = await rsaIdentity(asAuthority);
    tool.write('content', content);
    tool.write('rsa.pem', encodePem('CERTIFICATE', signer.certificate.der));
    tool.write('rsa.key', encodePem('PRIVATE KEY', exportPrivateKey(signer.privateKey)));
    const bound = ['rsa_pss_keygen_md:sha256', 'rsa_pss_keygen_mgf1_md:sha256'];
    const only = ['rsa_keygen_bits:2048', ...bound, 'rsa_pss_keygen_saltlen:32'];
    tool.run('genpkey', '-algorithm', 'rsa-pss', ...each('-pkeyopt', only), '-out', 'pss.key');
    tool.run('req', '-x509', '-new', '-key', 'pss.key', '-subj', '/CN=PSS', '-out', 'pss.pem');
  });
  afterAll(() => tool.remove());

  const each = (option: string, values: readonly string[]): string[] =>
    values.flatMap((value) => [option, value]);

  const opensslSign = (name: string, ...args: string[]): Buffer =>
    tool.run(
      'cms',
      '-sign',
      '-binary',
      '-outform',
      'DER',
      '-in',
      'content',
      '-nodetach',
      '-signer',
      `${name}.pem`,
      '-inkey',
      `${name}.key`,
      ...args,
    );

  const opensslAccepts = (der: Buffer): boolean => {
    tool.write('message', der);
    const args = ['-inform', 'DER', '-in', 'message', '-CAfile', 'rsa.pem', '-purpose', 'any'];
    try {
      return tool.run('cms', '-verify', '-binary', ...args).equals(content);
    } catch {
      return false;
    }
  };

  it('OpenSSL verifies what we sign, and not when it is altered', () => {
    for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
      for (const attributes of [true, false]) {
        const der = buildSignedData({ content, signer, digest, attributes, scheme: 'pss' });
        expect(verifySignedData({ der }).content).toEqual(content);
        expect(opensslAccepts(der)).toBe(true);
        der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
        expect(opensslAccepts(der)).toBe(false);
        expect(codeOf(() => verifySignedData({ der }))).toBe('invalid_signature');
      }
    }
  });

  it('EC cosigners of a message by PSS sign as they always do', async () => {
    const cosigners = [await ecIdentity('P-256', { issuedBy: signer })];
    const der = buildSignedData({ content, signer, cosigners, scheme: 'pss' });
    expect(verifySignedData({ der }).signers.length).toBe(2);
    expect(opensslAccepts(der)).toBe(true);
  });

  it('we verify what OpenSSL signs, with every digest, salt and mask', () => {
    for (const digest of ['sha1', 'sha256', 'sha384', 'sha512']) {
      for (const salt of salts) {
        for (const mask of [[], ['rsa_mgf1_md:sha1']]) {
          const options = each('-keyopt', [...pss, ...salt, ...mask]);
          const der = opensslSign('rsa', '-md', digest, ...options);
          const verified = verifySignedData({ der });
          expect(verified.signers[0].digestAlgorithm).toBe(digest);
          expect(verified.content).toEqual(content);
        }
      }
    }
  });

  it('we verify a signer whose key is for PSS alone', () => {
    const [certificate] = parseCertificates(tool.read('pss.pem'));
    expect(certificate?.publicKey.asymmetricKeyType).toBe('rsa-pss');
    // Without the option OpenSSL names the wrong algorithm, and refuses its own message.
    const der = opensslSign('pss', '-md', 'sha256', ...each('-keyopt', pss));
    expect(verifySignedData({ der }).signers[0].certificate.subject).toBe('CN=PSS');
    der[der.length - 1] = (der[der.length - 1] ?? 0) ^ 1;
    expect(codeOf(() => verifySignedData({ der }))).toBe('invalid_signature');
  });

  it('we verify certificates and requests signed by it', () => {
    for (const digest of ['sha1', 'sha256', 'sha512']) {
      const options = each('-sigopt', [...pss, 'rsa_pss_saltlen:20', 'rsa_mgf1_md:sha256']);
      const subject = ['-key', 'rsa.key', '-subj', '/CN=Leaf', `-${digest}`, ...options];
      const csr = tool.run('req', '-new', ...subject, '-outform', 'DER');
      expect(parseCsr(csr).commonName).toBe('Leaf');
      csr[csr.length - 1] = (csr[csr.length - 1] ?? 0) ^ 1;
      expect(codeOf(() => parseCsr(csr))).toBe('invalid_signature');
      const pem = tool.run(
        'req',
        '-x509',
        '-new',
        ...subject,
        '-CA',
        'rsa.pem',
        '-CAkey',
        'rsa.key',
      );
      const leaf = parseCertificate(decodePemBlock(pem.toString(), 'CERTIFICATE'));
      expect(leaf.signatureAlgorithm).toBe(Oid.rsassaPss);
      expect(isIssuedBy(leaf, signer.certificate)).toBe(true);
      expect(isSignedOverSha1(leaf)).toBe(digest === 'sha1');
      const altered = Buffer.from(leaf.der);
      altered[altered.length - 1] = (altered[altered.length - 1] ?? 0) ^ 1;
      expect(isIssuedBy(parseCertificate(altered), signer.certificate)).toBe(false);
    }
  });

  it('we verify a certificate and a request of a key that is for it alone', () => {
    const [certificate] = parseCertificates(tool.read('pss.pem'));
    expect(certificate && isIssuedBy(certificate, certificate)).toBe(true);
    const csr = tool.run('req', '-new', '-key', 'pss.key', '-subj', '/CN=Only', '-outform', 'DER');
    expect(parseCsr(csr).publicKey.asymmetricKeyType).toBe('rsa-pss');
  });
});
