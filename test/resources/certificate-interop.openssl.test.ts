import { X509Certificate } from 'node:crypto';
import request from 'supertest';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
let ssl: OpenSsl;
beforeAll(async () => {
  // While PUBLIC_URL names this machine alone, certificates may be for any host.
  app = await startApp({ isSweeping: false, env: { PUBLIC_URL: 'http://localhost:8080' } });
  ssl = openSsl();
  for (const name of ['root', 'middle', 'ec']) {
    ssl.run('ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', `${name}.key`);
  }
  ssl.run('genrsa', '-out', 'rsa.key', '2048');
  const root = ['-key', 'root.key', '-out', 'root.pem', '-subj', '/O=Example/CN=Root'];
  ssl.run('req', '-x509', '-new', '-days', '30', ...root);
  issue('middle', 'root', 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign');
  for (const name of ['ec', 'rsa']) {
    issue(name, 'middle', 'basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n');
  }
  ssl.write('chain.pem', text('root.pem') + text('middle.pem'));
});
afterAll(async () => {
  ssl.remove();
  await app.stop();
});

const text = (name: string) => ssl.read(name).toString('utf8');
const raw = (name: string) => new X509Certificate(ssl.read(name)).raw;

function issue(name: string, issuer: string, extensions: string): void {
  const files = ['-key', `${name}.key`, '-out', `${name}.csr`];
  ssl.run('req', '-new', ...files, '-subj', `/O=Example/CN=${name}.example.com`);
  sign(name, issuer, extensions);
}

function sign(name: string, issuer: string, extensions: string): void {
  ssl.write(`${name}.ext`, extensions);
  ssl.run(
    ...['x509', '-req', '-in', `${name}.csr`, '-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`],
    ...['-CAcreateserial', '-days', '20', '-extfile', `${name}.ext`, '-out', `${name}.pem`],
  );
}

async function create(path: string, type: string, attributes: Record<string, unknown>) {
  const { status, body } = await adminApi(app).post(path, { data: { type, attributes } });
  expect([status, body.errors]).toEqual([201, undefined]);
  return [body.data].flat()[0];
}

const upload = (attributes: Record<string, unknown>, path = '/ssl_certificates') =>
  create(path, 'certificates', attributes);

const remove = ({ id }: { id: number }) => adminApi(app).delete(`/certificates/${id}`).expect(204);

async function download(path: string) {
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
  return response;
}

async function expectStored(made: { id: number; attributes: object }, name: string): Promise<void> {
  expect(made.attributes).toMatchObject({
    pem_certificate: text(`${name}.pem`),
    extended_key_usage: ['serverAuth'],
    key_type: name === 'ec' ? 'EC' : 'RSA',
    key_size: name === 'ec' ? 256 : 2048,
    signature_algorithm: 'ecdsa-with-SHA256',
    chain: [{ subject: 'CN=middle.example.com,O=Example' }, { subject: 'CN=Root,O=Example' }],
  });
  const { chain_der } = await app.db.knex('certificates').where({ id: made.id }).first();
  expect(chain_der).toEqual(Buffer.concat([raw('middle.pem'), raw('root.pem')]));
}

describe('certificates made by OpenSSL', () => {
  it.each([
    ['ec', 'today', []],
    ['ec', 'in its old way', ['-legacy']],
    ['rsa', 'today', []],
    ['rsa', 'in its old way', ['-legacy']],
    [
      'rsa',
      'with 3DES for all',
      ['-legacy', '-keypbe', 'PBE-SHA1-3DES', '-certpbe', 'PBE-SHA1-3DES'],
    ],
    ['ec', 'with AES-128', ['-keypbe', 'AES-128-CBC', '-certpbe', 'AES-128-CBC']],
  ])('come as PKCS #12 of an %s key made %s', async (name, _how, options) => {
    ssl.run(
      ...['pkcs12', '-export', '-inkey', `${name}.key`, '-in', `${name}.pem`],
      ...['-certfile', 'chain.pem', '-passout', 'pass:secret', '-out', 'out.p12', ...options],
    );
    const pkcs12 = ssl.read('out.p12').toString('base64');
    const made = await upload({ pkcs12, password: 'secret' });
    await expectStored(made, name);
    const { id } = made.relationships.rsa_private_key.data;
    ssl.write('got.key', (await download(`/rsa_private_keys/${id}/download`)).body);
    const publicKey = ssl.run('x509', '-in', `${name}.pem`, '-noout', '-pubkey');
    expect(ssl.run('pkey', '-in', 'got.key', '-pubout')).toEqual(publicKey);
    await remove(made);
  });

  it.each([
    ['PEM', []],
    ['DER', ['-outform', 'DER']],
  ])('come as PKCS #7 in %s', async (form, options) => {
    const files = ['ec.pem', 'chain.pem'].flatMap((name) => ['-certfile', name]);
    ssl.run('crl2pkcs7', '-nocrl', ...files, '-out', 'out.p7b', ...options);
    const bytes = ssl.read('out.p7b');
    const pem_certificate = bytes.toString(form === 'PEM' ? 'utf8' : 'base64');
    const made = await upload({ pem_certificate, pem_private_key: text('ec.key') });
    await expectStored(made, 'ec');
    await remove(made);
  });

  it('come as PEM in any order, beside their key', async () => {
    const made = await upload({
      pem_certificate: text('root.pem') + text('ec.key') + text('ec.pem') + text('middle.pem'),
    });
    await expectStored(made, 'ec');
    expect(made.relationships.rsa_private_key.data).not.toBeNull();
    await remove(made);
  });
});

describe('downloads with the chain', () => {
  const verify = (name: string) =>
    ssl.run('verify', '-CAfile', 'root.pem', '-untrusted', name, name).toString();

  it('are PEM and PKCS #7 that OpenSSL reads and verifies', async () => {
    const pem_certificate = text('ec.pem') + text('root.pem') + text('middle.pem');
    const made = await upload({ pem_certificate });
    const path = `/download/certificates/${made.id}`;
    const pem = await download(`${path}?chain=true`);
    expect(pem.headers['content-type']).toBe('application/x-pem-file');
    expect(pem.body.toString()).toBe(text('ec.pem') + text('middle.pem') + text('root.pem'));
    ssl.write('got.pem', pem.body);
    expect(verify('got.pem')).toBe('got.pem: OK\n');
    const der = await download(`${path}?chain=true&format=der`);
    expect(der.headers['content-type']).toBe('application/pkcs7-mime');
    expect(der.headers['content-disposition']).toBe('attachment; filename=certificate.p7b');
    ssl.write('got.p7b', der.body);
    ssl.run('pkcs7', '-inform', 'DER', '-in', 'got.p7b', '-print_certs', '-out', 'printed.pem');
    expect(verify('printed.pem')).toBe('printed.pem: OK\n');
    expect(text('printed.pem').match(/BEGIN CERTIFICATE/g)).toHaveLength(3);
    const alone = await download(`${path}?chain=false`);
    expect(alone.body.toString()).toBe(text('ec.pem'));
    await remove(made);
  });

  it('add the issuers from the stored CAs when the upload had none', async () => {
    const made = await upload({ pem_certificate: text('rsa.pem') });
    const path = `/download/certificates/${made.id}?chain=true`;
    expect((await download(path)).body.toString()).toBe(text('rsa.pem'));
    const middle = await upload({ pem_certificate: text('middle.pem') }, '/ca_certificates');
    expect((await download(path)).body.toString()).toBe(text('rsa.pem') + text('middle.pem'));
    const root = await upload({ pem_certificate: text('root.pem') }, '/ca_certificates');
    const whole = (await download(path)).body;
    expect(whole.toString()).toBe(text('rsa.pem') + text('middle.pem') + text('root.pem'));
    ssl.write('got.pem', whole);
    expect(verify('got.pem')).toBe('got.pem: OK\n');
    const again = await download(`/download/certificates/${root.id}?chain=true`);
    expect(again.body.toString()).toBe(text('root.pem'));
    const revoked = { revoked_at: new Date() };
    await app.db.knex('certificates').where({ id: middle.id }).update(revoked);
    expect((await download(path)).body.toString()).toBe(text('rsa.pem'));
    for (const certificate of [made, middle, root]) await remove(certificate);
  });

  it('contain EC keys as PKCS #8', async () => {
    const pem_private_key = text('ec.key');
    const made = await upload({ pem_certificate: text('ec.pem'), pem_private_key });
    const path = `/rsa_private_keys/${made.relationships.rsa_private_key.data.id}/download`;
    ssl.write('got.key', (await download(path)).body);
    ssl.write('got.p8', (await download(`${path}?format=der`)).body);
    expect(text('got.key')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const expected = ssl.run('pkey', '-in', 'ec.key', '-outform', 'DER');
    expect(ssl.run('pkey', '-in', 'got.key', '-outform', 'DER')).toEqual(expected);
    expect(ssl.run('pkey', '-in', 'got.p8', '-inform', 'DER', '-outform', 'DER')).toEqual(expected);
    expect(ssl.run('pkey', '-in', 'got.p8', '-inform', 'DER', '-check').toString()).toContain(
      'valid',
    );
    await remove(made);
  });
});

describe('certificate signing requests', () => {
  it.each([
    ['RSA', 2048, 'Digital Signature, Key Encipherment'],
    ['EC', 384, 'Digital Signature'],
  ])(
    'of a server with %s %d ask for what browsers want, and get it',
    async (key_type, key_size, usage) => {
      const made = await create('/certificate_signing_requests', 'certificate_signing_requests', {
        key_type,
        key_size,
        purpose: 'mdm.webcrt',
        x509_cn: `mdm${key_size}.example.com`,
        x509_o: 'Grüße, GmbH',
        x509_c: 'DE',
      });
      const { pem_request } = made.attributes;
      ssl.write('made.csr', pem_request);
      const name = ['-nameopt', 'RFC2253,utf8,-esc_msb'];
      const shown = ssl
        .run('req', '-in', 'made.csr', '-noout', '-verify', '-text', ...name)
        .toString();
      expect(shown).toContain(`Subject: ${made.attributes.subject}`);
      expect(shown).toContain(`DNS:mdm${key_size}.example.com`);
      expect(shown).toContain('TLS Web Server Authentication');
      expect(shown).toMatch(new RegExp(`X509v3 Key Usage: critical\\n +${usage}\\n`));
      ssl.run(
        ...['x509', '-req', '-in', 'made.csr', '-CA', 'root.pem', '-CAkey', 'root.key'],
        ...['-CAcreateserial', '-copy_extensions', 'copyall', '-days', '20', '-out', 'made.pem'],
      );
      const answer = await upload({ pem_certificate: text('made.pem') });
      expect(answer.attributes).toMatchObject({
        extended_key_usage: ['serverAuth'],
        subject_alt_names: [`DNS:mdm${key_size}.example.com`],
        key_type,
        key_size,
      });
      expect(answer.relationships.certificate_signing_request.data.id).toBe(made.id);
      expect(answer.relationships.rsa_private_key.data).toEqual(
        made.relationships.rsa_private_key.data,
      );
    },
  );

  it.each([
    ['ec', 'PEM', []],
    ['rsa', 'DER', ['-outform', 'DER']],
  ])('of an %s key made by OpenSSL are taken as they are in %s', async (name, form, options) => {
    ssl.write(
      'san.cnf',
      '[req]\ndistinguished_name=dn\nreq_extensions=v3\n[dn]\n[v3]\nsubjectAltName=DNS:a.example.com,IP:192.0.2.9\n',
    );
    ssl.run(
      ...['req', '-new', '-key', `${name}.key`, '-out', 'taken.csr', '-subj', '/O=Example/CN=x'],
      ...['-config', 'san.cnf', ...options],
    );
    const bytes = ssl.read('taken.csr');
    const pem_request = bytes.toString(form === 'PEM' ? 'utf8' : 'base64');
    const made = await create('/certificate_signing_requests', 'certificate_signing_requests', {
      pem_request,
      purpose: 'mdm.webcrt',
    });
    expect(made.attributes).toMatchObject({
      subject: 'CN=x,O=Example',
      key_type: name === 'ec' ? 'EC' : 'RSA',
      key_size: name === 'ec' ? 256 : 2048,
      subject_alt_names: ['DNS:a.example.com', 'IP:192.0.2.9'],
    });
    ssl.write('stored.csr', made.attributes.pem_request);
    const der = (file: string, inform: string) =>
      ssl.run('req', '-in', file, '-inform', inform, '-outform', 'DER');
    expect(der('stored.csr', 'PEM')).toEqual(der('taken.csr', form));
  });
});
