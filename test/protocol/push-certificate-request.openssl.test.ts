import plist from 'plist';
import { decodePemBlock } from '../../src/crypto/asn1/pem.js';
import { importPrivateKey } from '../../src/crypto/keys/keys.js';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import { buildCsr } from '../../src/crypto/x509/csr.js';
import { buildPushCertificateRequest } from '../../src/protocol/push-certificate-request.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';

let ssl: OpenSsl;

beforeAll(() => {
  ssl = openSsl();
});
afterAll(() => ssl.remove());

const CA = 'basicConstraints=critical,CA:TRUE';

/** A root, an intermediate and a vendor certificate, all made by OpenSSL. */
function makeChain(): void {
  ssl.run(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'root.key',
    '-out',
    'root.pem',
    '-subj',
    '/O=Apple Inc./CN=Root',
    '-days',
    '30',
  );
  for (const [name, issuer, extensions] of [
    ['middle', 'root', `${CA}\n`],
    ['vendor', 'middle', 'keyUsage=digitalSignature\n'],
  ] as const) {
    ssl.write(`${name}.ext`, extensions);
    ssl.run(
      'req',
      '-new',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/O=Apple Inc./CN=${name}`,
    );
    ssl.run(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-CA',
      `${issuer}.pem`,
      '-CAkey',
      `${issuer}.key`,
      '-CAcreateserial',
      '-days',
      '30',
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.pem`,
    );
  }
}

function certificate(name: string) {
  return parseCertificate(decodePemBlock(ssl.read(`${name}.pem`).toString(), 'CERTIFICATE'));
}

describe('a request for a push certificate, read by OpenSSL', () => {
  it('is signed by the vendor over the bytes of the CSR, up to the root', () => {
    makeChain();
    ssl.run('genrsa', '-out', 'push.key', '2048');
    const privateKey = importPrivateKey(ssl.read('push.key'));
    const csrDer = buildCsr({
      subject: [{ type: 'CN', value: 'push of example' }],
      privateKey,
      publicKey: privateKey,
    });
    const file = buildPushCertificateRequest({
      csrDer,
      vendor: {
        certificate: certificate('vendor'),
        privateKey: importPrivateKey(ssl.read('vendor.key')),
        chain: [certificate('middle'), certificate('root')],
      },
    });

    // `openssl base64 -A` takes one line of any length.
    ssl.write('request.b64', file);
    const xml = ssl.run('base64', '-d', '-A', '-in', 'request.b64').toString('utf8');
    const found = plist.parse(xml) as Record<string, string>;
    ssl.write('found.csr', Buffer.from(found.PushCertRequestCSR ?? '', 'base64'));
    ssl.write('found.sig', Buffer.from(found.PushCertSignature ?? '', 'base64'));
    ssl.write('found.pem', found.PushCertCertificateChain ?? '');
    ssl.write('public.pem', ssl.run('x509', '-in', 'found.pem', '-noout', '-pubkey'));
    const check = ['dgst', '-sha256', '-verify', 'public.pem', '-signature', 'found.sig'];
    expect(ssl.run(...check, 'found.csr').toString()).toBe('Verified OK\n');
    expect(
      ssl.run('req', '-inform', 'DER', '-in', 'found.csr', '-noout', '-subject').toString(),
    ).toMatch(/CN ?= ?push of example/);
    const chain = ['verify', '-CAfile', 'root.pem', '-untrusted', 'found.pem', 'found.pem'];
    expect(ssl.run(...chain).toString()).toBe('found.pem: OK\n');

    const altered = ssl.read('found.csr');
    altered[40] = (altered[40] ?? 0) ^ 1;
    ssl.write('altered.csr', altered);
    expect(() => ssl.run(...check, 'altered.csr')).toThrow();
  });
});
