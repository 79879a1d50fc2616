import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodePem } from '../../src/crypto/asn1/pem.js';
import { verifySignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { startApp, type TestApp } from '../helpers/app.js';

/** A CA and a certificate for localhost that it issued, with the chain in one file. */
function makeCertificates(openssl: OpenSsl): void {
  const elliptic = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl.run(
    'req',
    '-x509',
    ...elliptic,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
  );
  openssl.run(
    'req',
    '-x509',
    ...elliptic,
    '-keyout',
    'server.key',
    '-out',
    'server.pem',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
  );
  openssl.write('chain.pem', Buffer.concat([openssl.read('server.pem'), openssl.read('ca.pem')]));
}

describe('the enrollment profile of a server with TLS', () => {
  let openssl: OpenSsl;
  let directory: string;
  let app: TestApp;

  beforeAll(async () => {
    openssl = openSsl();
    makeCertificates(openssl);
    directory = mkdtempSync(join(tmpdir(), 'muster-profile-'));
    const [TLS_CERT_FILE, TLS_KEY_FILE] = ['chain.pem', 'server.key'].map((name) => {
      writeFileSync(join(directory, name), openssl.read(name));
      return join(directory, name);
    }) as [string, string];
    app = await startApp({ env: { TLS_CERT_FILE, TLS_KEY_FILE } });
  });
  afterAll(async () => {
    await app.stop();
    openssl.remove();
    rmSync(directory, { recursive: true });
  });

  function fetchProfile(query = ''): Promise<Buffer> {
    const ca = openssl.read('ca.pem');
    return new Promise((resolve, reject) => {
      const url = `${app.url}/enroll/profile${query}`;
      get(url, { ca, agent: false, servername: 'localhost' }, (res) => {
        expect(res.statusCode).toBe(200);
        expect(res.headers['content-type']).toBe('application/x-apple-aspen-config');
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => resolve(Buffer.concat(chunks)));
      }).on('error', reject);
    });
  }

  it('is signed by the certificate of the server, its chain included', async () => {
    const { content, signers, certificates } = verifySignedData({ der: await fetchProfile() });
    const [leaf, ca] = decodePem(openssl.read('chain.pem').toString()).map(({ der }) =>
      parseCertificate(der),
    );
    expect(signers.map(({ certificate }) => certificate.subject)).toEqual([leaf?.subject]);
    const subjects = new Set(certificates.map(({ subject }) => subject));
    expect(subjects).toEqual(new Set([leaf?.subject, ca?.subject]));
    expect(certificates).toHaveLength(2);
    const { PayloadIdentifier } = parsePlistDict(content ?? Buffer.alloc(0));
    expect(PayloadIdentifier).toBe('dev.muster.enroll');
  });

  it('is verified by OpenSSL down to the CA', async () => {
    openssl.write('profile.der', await fetchProfile());
    const content = openssl.run(
      'cms',
      '-verify',
      '-inform',
      'DER',
      '-in',
      'profile.der',
      '-binary',
      '-CAfile',
      'ca.pem',
      '-purpose',
      'any',
    );
    expect(parsePlistDict(content).PayloadType).toBe('Configuration');
  });

  it('comes unsigned when asked', async () => {
    const profile = parsePlistDict(await fetchProfile('?signed=false'));
    expect(profile.PayloadIdentifier).toBe('dev.muster.enroll');
  });

  it('stays signed whatever else the query says', async () => {
    for (const query of ['?signed=true', '?signed=', '?signed=false&signed=true']) {
      expect((await fetchProfile(query)).readUInt8(0)).toBe(0x30);
    }
  });
});
