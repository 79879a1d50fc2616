import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { faults } from '../resources/certificate-samples.js';

let openssl: OpenSsl;
let database: TestDatabase;

beforeAll(async () => {
  openssl = openSsl();
  database = await createTestDatabase();
});
afterAll(async () => {
  openssl.remove();
  await database.drop();
});

/** Self-signed, hence a CA; without further extensions unless `extensions` names them. */
function selfSigned(subject: string, ...extensions: string[]): string {
  openssl.run(
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '2', '-subj', subject, '-keyout', 'own.key', '-out', 'own.pem'],
    ...extensions.flatMap((extension) => ['-addext', extension]),
  );
  return openssl.read('own.pem').toString() + openssl.read('own.key').toString();
}

function add(app: TestApp, pem_certificate: string, path = '/ssl_certificates') {
  const attributes = { pem_certificate };
  return adminApi(app).post(path, { data: { type: 'certificates', attributes } });
}

const CERTIFICATE = '/data/attributes/pem_certificate';

describe('an ssl certificate', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp({ database, isSweeping: false });
  });
  afterAll(() => app.halt());

  it.each([
    ['of another host', '/CN=www.example.com', []],
    ['whose SANs are others', '/CN=mdm.example.com', ['subjectAltName=DNS:www.example.com']],
    ['of a wildcard elsewhere', '/CN=x', ['subjectAltName=DNS:*.mdm.example.com']],
    ['of no host', '/O=Example', []],
  ])('%s is refused unless it is forced', async (_what, subject, extensions) => {
    const pem = selfSigned(subject, ...extensions);
    const answer = await add(app, pem);
    expect(faults(answer)).toEqual([422, ['certificate_not_valid', CERTIFICATE]]);
    expect(answer.body.errors[0].detail).toMatch(
      /^it is for .+, not for mdm\.example\.com, the host of PUBLIC_URL, so that .*\?force=true/,
    );
    expect((await add(app, pem, '/ssl_certificates?force=true')).status).toBe(201);
  });

  it('is refused when it is of a CA that may sign only, even with force', async () => {
    const usage = 'keyUsage=critical,keyCertSign,cRLSign';
    const pem = selfSigned('/CN=mdm.example.com', usage);
    const answer = await add(app, pem, '/ssl_certificates?force=true');
    expect(faults(answer)).toEqual([422, ['validation_failed', CERTIFICATE]]);
    expect(answer.body.errors[0].detail).toBe(
      'it is the certificate of a CA, and its key usage (keyCertSign, cRLSign) leaves no way to ' +
        'speak TLS',
    );
  });

  it.each([
    ['its common name', '/CN=mdm.example.com', []],
    ['a SAN', '/CN=x', ['subjectAltName=DNS:a.example.com,DNS:MDM.example.com']],
    ['a wildcard', '/CN=x', ['subjectAltName=DNS:*.example.com']],
    ['a key usage', '/CN=mdm.example.com', ['keyUsage=keyCertSign,digitalSignature']],
  ])('is accepted for %s', async (_what, subject, extensions) => {
    expect((await add(app, selfSigned(subject, ...extensions))).status).toBe(201);
  });

  it('is not created from another certificate for another host, unless forced', async () => {
    const pem_certificate = selfSigned('/CN=www.example.com');
    const attributes = { purpose: 'mdm.encrypt', pem_certificate };
    const data = { type: 'certificates', attributes };
    const made = await adminApi(app).post('/certificates', { data });
    const [{ id }] = made.body.data;
    const change = (query = '') =>
      adminApi(app).patch(`/certificates/${id}${query}`, {
        data: { type: 'certificates', id, attributes: { purpose: 'mdm.webcrt' } },
      });
    const pointer = '/data/attributes/purpose';
    expect(faults(await change())).toEqual([422, ['certificate_not_valid', pointer]]);
    expect((await change('?force=true')).status).toBe(200);
  });
});

it.each([
  ['an address', 'https://192.0.2.7', 'IP:192.0.2.7', 'IP:192.0.2.8'],
  ['an IPv6 address', 'https://[2001:db8::7]:8443', 'IP:2001:db8:0::7', 'DNS:2001.db8'],
])('an ssl certificate is for the host of PUBLIC_URL where that is %s', async (...given) => {
  const [, PUBLIC_URL, right, wrong] = given;
  const app = await startApp({ database, env: { PUBLIC_URL }, isSweeping: false });
  const pem = selfSigned('/CN=x', `subjectAltName=${wrong}`);
  expect(faults(await add(app, pem))).toEqual([422, ['certificate_not_valid', CERTIFICATE]]);
  expect((await add(app, selfSigned('/CN=x', `subjectAltName=${right}`))).status).toBe(201);
  await app.halt();
});

it.each([
  ['PUBLIC_URL names this machine alone', { PUBLIC_URL: 'http://localhost:8080' }],
  ['a proxy speaks TLS', { TLS: 'off' }],
])('an ssl certificate may be for any host where %s', async (_what, env) => {
  const app = await startApp({ database, env, isSweeping: false });
  expect((await add(app, selfSigned('/CN=www.example.com'))).status).toBe(201);
  await app.halt();
});
