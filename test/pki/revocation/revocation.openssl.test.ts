import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { type OpenSsl, openSsl } from '../../crypto/openssl.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { type StoredIdentity, send, storedIdentity } from './revocation-fixture.js';

// Asynchronous, unlike in other tests: the server that OpenSSL asks runs in this process.
const run = promisify(execFile);

let app: TestApp;
let tool: OpenSsl;
let good: StoredIdentity;
let revoked: StoredIdentity;

const pem = ({ certificate }: StoredIdentity) => encodePem('CERTIFICATE', certificate.der);

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  tool = openSsl();
  [good, revoked] = [await storedIdentity(app), await storedIdentity(app)];
  await adminApi(app).post(`/certificates/${revoked.id}/revoke`, { reason: 'keyCompromise' });
  const { keyId } = app.container.authorities.current;
  tool.write('ca.der', (await send(`${app.url}/ca/${keyId}.cer`)).body);
  tool.write('ca.crl', (await send(`${app.url}/crl/${keyId}.crl`)).body);
  tool.run('x509', '-inform', 'DER', '-in', 'ca.der', '-out', 'ca.pem');
  tool.run('crl', '-inform', 'DER', '-in', 'ca.crl', '-out', 'crl.pem');
  tool.write('good.pem', pem(good));
  tool.write('revoked.pem', pem(revoked));
});
afterAll(async () => {
  tool.remove();
  await app.stop();
});

async function openssl(...args: string[]): Promise<string> {
  const cwd = tool.directory;
  const { stdout, stderr } = await run('openssl', args, { cwd });
  return stdout + stderr;
}

/** Its output, with a non-zero exit status. */
async function failing(...args: string[]): Promise<string> {
  const cwd = tool.directory;
  const error: unknown = await run('openssl', args, { cwd }).catch((reason: unknown) => reason);
  const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
  expect(code).toBeGreaterThan(0);
  return stdout + stderr;
}

describe('revocation with OpenSSL', () => {
  it('finds the list signed by the CA, and its entries', async () => {
    const text = await openssl('crl', '-in', 'crl.pem', '-CAfile', 'ca.pem', '-noout', '-text');
    expect(text).toContain('verify OK');
    expect(text).toContain('Version 2 (0x1)');
    expect(text).toMatch(/X509v3 CRL Number: *\n/);
    expect(text).toContain('X509v3 Authority Key Identifier');
    expect(text).toContain(`Serial Number: ${revoked.certificate.serialHex.toUpperCase()}`);
    expect(text).toMatch(/X509v3 CRL Reason Code: *\n *Key Compromise/);
    expect(text).not.toContain(good.certificate.serialHex.toUpperCase());
  });

  it('accepts a good certificate and refuses a revoked one by the list', async () => {
    const check = [
      'verify',
      '-x509_strict',
      '-crl_check',
      '-CAfile',
      'ca.pem',
      '-CRLfile',
      'crl.pem',
    ];
    expect(await openssl(...check, 'good.pem')).toBe('good.pem: OK\n');
    expect(await failing(...check, 'revoked.pem')).toContain('certificate revoked');
  });

  it('reads in an identity where its list, OCSP and its issuer are', async () => {
    const { keyId } = app.container.authorities.current;
    const text = await openssl('x509', '-in', 'good.pem', '-noout', '-text');
    expect(text).toContain(`URI:${app.config.publicUrl}/crl/${keyId}.crl`);
    expect(text).toContain(`OCSP - URI:${app.config.publicUrl}/ocsp`);
    expect(text).toContain(`CA Issuers - URI:${app.config.publicUrl}/ca/${keyId}.cer`);
  });

  const ask = ['ocsp', '-issuer', 'ca.pem', '-CAfile', 'ca.pem', '-text'];

  it.each(['-sha1', '-sha256'])(
    'asks by OCSP for good, revoked and unknown, %s',
    async (digest) => {
      const { serialHex } = revoked.certificate;
      const asked = ['-cert', 'good.pem', '-serial', `0x${serialHex}`, '-serial', '0x1234'];
      const text = await openssl(...ask, digest, '-url', `${app.url}/ocsp`, ...asked);
      expect(text).toContain('Response verify OK');
      expect(text).toContain('good.pem: good\n');
      expect(text).toMatch(
        new RegExp(`0x${serialHex}: revoked\\n.*\\n.*\\n\\s*Reason: keyCompromise`),
      );
      expect(text).toContain('0x1234: unknown\n');
      expect(text).not.toContain('no nonce in response');
      const [sent, repeated] = [...text.matchAll(/OCSP Nonce: *\n *(\w+)/g)].map(([, hex]) => hex);
      expect(sent).toHaveLength(36);
      expect(repeated).toBe(sent);
    },
  );

  it('accepts the answer to a GET, and one without a nonce', async () => {
    await openssl(...ask, '-no_nonce', '-cert', 'good.pem', '-reqout', 'request.der');
    const path = encodeURIComponent(tool.read('request.der').toString('base64'));
    tool.write('response.der', (await send(`${app.url}/ocsp/${path}`)).body);
    const text = await openssl(...ask, '-no_nonce', '-cert', 'good.pem', '-respin', 'response.der');
    expect(text).toContain('Response verify OK');
    expect(text).toContain('good.pem: good\n');
  });

  it('gets unauthorized for a certificate of another CA', async () => {
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
    ];
    tool.run(...request, '-keyout', 'k', '-out', 'other.pem', '-subj', '/CN=Other', '-days', '1');
    const other = ['ocsp', '-issuer', 'other.pem', '-serial', '0x1', '-url', `${app.url}/ocsp`];
    expect(await failing(...other)).toContain('Responder Error: unauthorized (6)');
  });

  it('refuses an answer with one octet changed', async () => {
    await openssl(...ask, '-no_nonce', '-cert', 'revoked.pem', '-reqout', 'request.der');
    const headers = { 'Content-Type': 'application/ocsp-request' };
    const body = tool.read('request.der');
    const answer = await send(`${app.url}/ocsp`, { method: 'POST', headers, body });
    const at = answer.body.indexOf(Buffer.from(revoked.certificate.serialHex, 'hex'));
    answer.body.writeUInt8(answer.body.readUInt8(at) ^ 1, at);
    tool.write('forged.der', answer.body);
    const text = await failing(
      'ocsp',
      '-issuer',
      'ca.pem',
      '-CAfile',
      'ca.pem',
      '-respin',
      'forged.der',
    );
    expect(text).toContain('Response Verify Failure');
  });
});
