import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

let openssl: OpenSsl;
let database: TestDatabase;

const env = { PUBLIC_URL: 'https://localhost:8443' };

beforeAll(async () => {
  openssl = openSsl();
  database = await createTestDatabase();
});
afterAll(async () => {
  openssl.remove();
  await database.drop();
});

interface Pair {
  pem_certificate: string;
  pem_private_key: string;
}

const KEYS = { rsa: ['rsa:2048'], ec: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] };

/** Self-signed, for localhost. */
function selfSigned(kind: keyof typeof KEYS = 'ec'): Pair {
  openssl.run(
    'req',
    '-x509',
    '-newkey',
    ...KEYS[kind],
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-keyout',
    'own.key',
    '-out',
    'own.pem',
  );
  const read = (name: string) => openssl.read(name).toString('latin1');
  return { pem_certificate: read('own.pem'), pem_private_key: read('own.key') };
}

interface Stored extends Pair {
  id: number;
}

async function upload(app: TestApp, pair = selfSigned()): Promise<Stored> {
  const data = { type: 'certificates', attributes: pair };
  const { body, status } = await adminApi(app).post('/ssl_certificates', { data });
  expect(status).toBe(201);
  return { ...pair, id: body.data[0].id };
}

const stored = () => database.db.knex('certificates').where({ purpose: 'mdm.webcrt' });

const change = (app: TestApp, id: number, content: object, query = '') =>
  adminApi(app).patch(`/certificates/${id}${query}`, {
    data: { type: 'certificates', id, ...content },
  });

const WITHOUT_KEY = { relationships: { rsa_private_key: { data: null } } };
const OTHERWISE = { attributes: { purpose: 'mdm.encrypt' } };

/** PEM of the certificate that a client is shown. */
function shown({ url }: TestApp): Promise<string> {
  return new Promise((resolve, reject) => {
    const port = Number(new URL(url).port);
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? 'none');
      socket.end();
    });
    socket.on('error', reject);
  });
}

async function warnings(app: TestApp): Promise<string[]> {
  const { body } = await adminApi(app).get('/credentials');
  return body.data.attributes.warnings.map(({ code }: { code: string }) => code);
}

describe('the ssl certificate that HTTPS is served with', () => {
  let app: TestApp;
  let first: Stored;

  beforeAll(async () => {
    const plain = await startApp({ database, env, isSweeping: false });
    expect(await warnings(plain)).toContain('https_without_certificate');
    first = await upload(plain);
    // Nothing is served with it yet.
    expect((await adminApi(plain).delete(`/certificates/${first.id}`)).status).toBe(204);
    first = await upload(plain);
    await plain.halt();
    app = await startApp({ database, env, isSweeping: false });
    expect(await shown(app)).toBe(first.pem_certificate);
  });
  afterAll(() => app.halt());

  const SERVED =
    'HTTPS is served with this certificate, and there is no other one to serve it with';

  it.each([
    ['deleted', (id: number) => adminApi(app).delete(`/certificates/${id}`)],
    ['revoked', (id: number) => adminApi(app).post(`/certificates/${id}/revoke`, {})],
    ['parted from its key', (id: number) => change(app, id, WITHOUT_KEY)],
    ['given another purpose', (id: number) => change(app, id, OTHERWISE)],
  ])('is not %s while it is the last one', async (_what, attempt) => {
    const before = await stored();
    const { status, body } = await attempt(first.id);
    expect([status, body.errors[0].code]).toEqual([409, 'in_use']);
    expect(body.errors[0].detail).toContain(`${SERVED}: add its successor first; `);
    expect(await stored()).toEqual(before);
  });

  it('is the last beside those that have expired, are revoked, have no key or begin later', async () => {
    const others = [await upload(app), await upload(app), await upload(app), await upload(app)];
    const [expired, revoked, keyless, later] = others.map(({ id }) => stored().where({ id }));
    await expired?.update({ not_after: new Date(Date.now() - 1) });
    await revoked?.update({ revoked_at: 'now' });
    await keyless?.update({ rsa_private_key_id: null });
    await later?.update({ not_before: new Date(Date.now() + 86_400_000) });
    const { status } = await adminApi(app).delete(`/certificates/${first.id}`);
    expect(status).toBe(409);
    for (const { id } of others) {
      expect((await adminApi(app).delete(`/certificates/${id}`)).status).toBe(204);
    }
  });

  it('can be deleted when there is another, which is the last then', async () => {
    const second = await upload(app);
    expect((await adminApi(app).delete(`/certificates/${first.id}`)).status).toBe(204);
    expect((await adminApi(app).delete(`/certificates/${second.id}`)).status).toBe(409);
    first = second;
  });

  it('loses its key or is revoked only by force', async () => {
    expect((await change(app, first.id, WITHOUT_KEY, '?force=true')).status).toBe(200);
    const { id } = await upload(app);
    expect((await change(app, id, OTHERWISE, '?force=true')).status).toBe(200);
    const last = await upload(app);
    const revoke = (query: string) => adminApi(app).post(`/certificates/${last.id}/revoke${query}`);
    expect((await revoke('')).status).toBe(409);
    expect((await revoke('?force=true')).status).toBe(200);
  });

  it.each([
    ['with TLS=off', { TLS: 'off' }],
    ['where files are served', 'files'],
  ])('can be deleted %s', async (_what, more) => {
    const { id } = await upload(app);
    const settings = typeof more === 'string' ? filesOf(selfSigned()) : more;
    const other = await startApp({ database, env: { ...env, ...settings }, isSweeping: false });
    expect((await adminApi(other).delete(`/certificates/${id}`)).status).toBe(204);
    await other.halt();
  });
});

function filesOf({ pem_certificate, pem_private_key }: Pair) {
  const [TLS_CERT_FILE, TLS_KEY_FILE] = ['cert.pem', 'key.pem'].map((name) =>
    join(openssl.directory, name),
  ) as [string, string];
  writeFileSync(TLS_CERT_FILE, pem_certificate);
  writeFileSync(TLS_KEY_FILE, pem_private_key);
  return { TLS_CERT_FILE, TLS_KEY_FILE };
}

/** Resolves when it is so. */
async function untilSo(is: () => Promise<boolean>): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 5_000; ) {
    if (await is()) return;
  }
  throw new Error('it never came to pass');
}

describe('files that are replaced', () => {
  it('connections by a certificate with the key of another kind are not served, and an admin is warned', async () => {
    const own = selfSigned('rsa');
    const files = filesOf(own);
    const app = await startApp({ database, env: { ...env, ...files } });
    const isUnusable = async () => (await warnings(app)).includes('tls_files_unusable');
    expect(await isUnusable()).toBe(false);

    const { pem_certificate, pem_private_key } = selfSigned('ec');
    writeFileSync(files.TLS_KEY_FILE, pem_private_key);
    await upload(app); // a reason to look at once
    await untilSo(isUnusable);
    expect(await shown(app)).toBe(own.pem_certificate);
    const line = app.logLines.find(({ code }) => code === 'tls_files_unusable');
    expect(Object.keys(line ?? {})).toEqual(['level', 'time', 'pid', 'hostname', 'code', 'msg']);
    expect(line?.level).toBe(40);

    writeFileSync(files.TLS_CERT_FILE, pem_certificate);
    await upload(app);
    await untilSo(async () => !(await isUnusable()));
    expect(await shown(app)).toBe(pem_certificate);
    await app.halt();
  });
});
