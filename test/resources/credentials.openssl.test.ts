import { X509Certificate } from 'node:crypto';
import request from 'supertest';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
let ssl: OpenSsl;
beforeAll(async () => {
  app = await startApp();
  ssl = openSsl();
  ssl.run('genrsa', '-out', 'root.key', '2048');
  ssl.run('ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', 'middle.key');
  ssl.run('genrsa', '-out', 'leaf.key', '2048');
  const root = ['-key', 'root.key', '-out', 'root.pem', '-subj', '/O=Example/CN=Root'];
  ssl.run('req', '-x509', '-new', '-days', '30', ...root);
  issue('middle', 'root', 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign');
  issue('leaf', 'middle', 'basicConstraints=CA:FALSE\nsubjectAltName=DNS:mdm.example.com');
  ssl.write('chain.pem', Buffer.concat([read('middle.pem'), read('root.pem')]));
});
afterAll(async () => {
  ssl.remove();
  await app.stop();
});

const read = (name: string) => ssl.read(name);
const text = (name: string) => read(name).toString('utf8');

function sign(csr: string, issuer: string, options: string[]): void {
  ssl.run(
    ...['x509', '-req', '-in', csr, '-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`],
    ...['-CAcreateserial', '-days', '20', ...options],
  );
}

function issue(name: string, issuer: string, extensions: string): void {
  const subject = ['-subj', `/C=DE/O=Grüße, GmbH/CN=${name}`, '-utf8'];
  ssl.run('req', '-new', '-key', `${name}.key`, '-out', `${name}.csr`, ...subject);
  ssl.write(`${name}.ext`, extensions);
  sign(`${name}.csr`, issuer, ['-extfile', `${name}.ext`, '-out', `${name}.pem`]);
}

async function create(path: string, type: string, attributes: Record<string, unknown>) {
  const { status, body } = await adminApi(app).post(path, { data: { type, attributes } });
  expect([status, body.errors]).toEqual([201, undefined]);
  return [body.data].flat()[0];
}

const createCertificate = (attributes: Record<string, unknown>, path = '/ssl_certificates') =>
  create(path, 'certificates', attributes);

async function download(path: string): Promise<Buffer> {
  const response = await request(app.app)
    .get(`/api/v1${path}`)
    .set('Authorization', `Bearer ${ADMIN_TOKEN}`)
    .buffer(true)
    .parse((stream, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => done(null, Buffer.concat(chunks)));
    });
  expect(response.status).toBe(200);
  return response.body;
}

async function remove({ id }: { id: number }): Promise<void> {
  await adminApi(app).delete(`/certificates/${id}`).expect(204);
}

describe('certificates made by OpenSSL', () => {
  it.each<[string, string[]]>([
    ['today', []],
    ['in its old way', ['-legacy']],
  ])('come with key and chain in a PKCS #12 made %s', async (_what, options) => {
    const password = 'Grüße';
    ssl.run(
      ...['pkcs12', '-export', '-inkey', 'leaf.key', '-in', 'leaf.pem', '-certfile', 'chain.pem'],
      ...['-passout', `pass:${password}`, '-out', 'leaf.p12', ...options],
    );
    const pkcs12 = read('leaf.p12').toString('base64');
    const made = await createCertificate({ pkcs12, password });
    const leaf = new X509Certificate(read('leaf.pem'));
    expect(made.attributes).toMatchObject({
      subject: 'CN=leaf,O=Grüße\\, GmbH,C=DE',
      issuer: 'CN=middle,O=Grüße\\, GmbH,C=DE',
      serial: leaf.serialNumber.toLowerCase(),
      fingerprint_sha256: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    });
    expect(Date.parse(made.attributes.not_after)).toBe(Date.parse(leaf.validTo));
    const { chain_der } = await app.db.knex('certificates').where({ id: made.id }).first();
    const chain = ['middle.pem', 'root.pem'].map((name) => new X509Certificate(read(name)).raw);
    expect(chain_der).toEqual(Buffer.concat(chain));
    expect(made.relationships.rsa_private_key.data).not.toBeNull();
    await remove(made);
  });

  it('come with an encrypted key, in any order of the chain', async () => {
    const pass = ['-passout', 'pass:secret'];
    ssl.run('pkcs8', '-topk8', '-in', 'leaf.key', '-out', 'leaf.enc', ...pass);
    const made = await createCertificate({
      pem_certificate: text('root.pem') + text('leaf.pem') + text('middle.pem'),
      pem_private_key: text('leaf.enc'),
      password: 'secret',
    });
    expect(made.attributes.pem_certificate).toBe(text('leaf.pem'));
    await remove(made);
  });

  it('are an EC intermediate with its key, and a leaf in DER', async () => {
    const pem_private_key = text('middle.key');
    const pem_certificate = text('middle.pem');
    const middle = await createCertificate(
      { pem_certificate, pem_private_key },
      '/ca_certificates',
    );
    expect(middle.attributes).toMatchObject({ purpose: 'mdm.cacert', is_ca: true });
    ssl.run('x509', '-in', 'leaf.pem', '-outform', 'DER', '-out', 'leaf.der');
    const leaf = await createCertificate({
      pem_certificate: read('leaf.der').toString('base64'),
    });
    expect(leaf.attributes.pem_certificate).toBe(text('leaf.pem'));
    await remove(leaf);
    await remove(middle);
  });
});

describe('what is downloaded', () => {
  it('is certificates and keys that OpenSSL reads and pairs', async () => {
    const made = await createCertificate({
      pem_certificate: text('leaf.pem'),
      pem_private_key: text('leaf.key'),
    });
    const keyPath = `/rsa_private_keys/${made.relationships.rsa_private_key.data.id}/download`;
    ssl.write('got.pem', await download(`/download/certificates/${made.id}`));
    ssl.write('got.der', await download(`/download/certificates/${made.id}?format=der`));
    ssl.write('got.key', await download(keyPath));
    ssl.write('got.p8', await download(`${keyPath}?format=der`));
    const verified = ssl.run(
      'verify',
      '-CAfile',
      'root.pem',
      '-untrusted',
      'middle.pem',
      'got.pem',
    );
    expect(verified.toString()).toBe('got.pem: OK\n');
    const publicKey = ssl.run('x509', '-in', 'got.der', '-inform', 'DER', '-pubkey', '-noout');
    expect(ssl.run('pkey', '-in', 'got.key', '-pubout')).toEqual(publicKey);
    expect(ssl.run('pkey', '-in', 'got.p8', '-inform', 'DER', '-pubout')).toEqual(publicKey);
    expect(ssl.run('pkey', '-in', 'got.key', '-check', '-noout').toString()).toContain('valid');
    await remove(made);
  });
});

describe('certificate signing requests', () => {
  it.each([
    ['RSA', 2048],
    ['RSA', 3072],
    ['EC', 256],
    ['EC', 384],
  ])(
    'with %s %d are verified and signed by OpenSSL, and the answer finds its key',
    async (key_type, key_size) => {
      const made = await create('/certificate_signing_requests', 'certificate_signing_requests', {
        key_type,
        key_size,
        purpose: 'mdm.webcrt',
        subject: `/C=DE/O=Grüße, GmbH/CN=mdm${key_size}.example.com`,
        subject_alt_names: [
          'mdm.example.com',
          '192.0.2.1',
          'IP:2001:db8::1',
          'email:me@example.com',
        ],
      });
      ssl.write('made.csr', made.attributes.pem_request);
      const shown = ssl
        .run(
          'req',
          '-in',
          'made.csr',
          '-noout',
          '-verify',
          '-text',
          '-nameopt',
          'RFC2253,utf8,-esc_msb',
        )
        .toString();
      expect(shown).toContain(`Subject: ${made.attributes.subject}`);
      expect(shown).toContain(
        'DNS:mdm.example.com, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1, email:me@example.com',
      );
      expect(shown).toContain(`(${key_size} bit)`);
      sign('made.csr', 'root', ['-copy_extensions', 'copy', '-out', 'made.pem']);
      const certificate = await createCertificate({ pem_certificate: text('made.pem') });
      const key = made.relationships.rsa_private_key.data;
      expect(certificate.relationships.rsa_private_key.data).toEqual(key);
      ssl.write('made.key', await download(`/rsa_private_keys/${key.id}/download`));
      expect(ssl.run('pkey', '-in', 'made.key', '-pubout')).toEqual(
        ssl.run('x509', '-in', 'made.pem', '-pubkey', '-noout'),
      );
    },
  );

  it('made by OpenSSL are taken', async () => {
    const made = await create('/certificate_signing_requests', 'certificate_signing_requests', {
      pem_request: text('leaf.csr'),
      purpose: 'mdm.webcrt',
    });
    expect(made.attributes).toMatchObject({
      pem_request: text('leaf.csr'),
      subject: 'CN=leaf,O=Grüße\\, GmbH,C=DE',
    });
  });
});
