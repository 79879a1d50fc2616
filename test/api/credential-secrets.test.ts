import { randomUUID } from 'node:crypto';
import { exportPrivateKey } from '../../src/crypto/keys/keys.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { ensureCertificateAuthority } from '../../src/pki/authority/authority.js';
import { privateKeyLabel } from '../../src/pki/master-key/master-key.js';
import { fixture, type Identity } from '../crypto/identities.js';
import { adminApi, PUBLIC_URL, startApp, type TestApp } from '../helpers/app.js';
import { TestDevice } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import {
  certificatePem,
  keyPem,
  makeAuthority,
  makeIdentity,
} from '../resources/certificate-samples.js';

const PASSWORD = 'correct horse battery';

let app: TestApp;
let identity: Identity;
const answers: string[] = [];

beforeAll(async () => {
  app = await startApp();
  const value = new URL(PUBLIC_URL).hostname;
  identity = await makeIdentity({ subjectAltName: [{ type: 'dns', value }] });
});
afterAll(() => app.stop());

type Api = ReturnType<typeof adminApi>;

async function noting(send: (api: Api) => ReturnType<Api['get']>, status: number) {
  const response = await send(adminApi(app));
  answers.push(JSON.stringify([response.headers, response.text]));
  expect(response.status).toBe(status);
  return response.body;
}

function certificate(attributes: Record<string, unknown>) {
  return { data: { type: 'certificates', attributes: { purpose: 'mdm.webcrt', ...attributes } } };
}

/** Parts of the key that no text may hold: PEM lines, base64 and hexadecimal of the secret. */
function secretsOf(key: Buffer): string[] {
  const scalar = key.subarray(36, 68);
  return [scalar.toString('hex'), key.subarray(30, 69).toString('base64'), key.toString('hex')];
}

describe('secrets of certificates and keys', () => {
  it('are in no document, error, log line or audit row, and lie sealed', async () => {
    const pem_certificate = certificatePem(identity.certificate);
    const pem_private_key = keyPem(identity);
    const wrong = certificatePem((await makeIdentity()).certificate);
    const post = (body: object, status: number) =>
      noting((api) => api.post('/certificates', body), status);
    await post(certificate({ pem_certificate: wrong, pem_private_key, password: PASSWORD }), 422);
    await post(certificate({ pem_certificate: pem_private_key }), 422);
    await post(certificate({ pem_certificate, pem_private_key, password: 7 }), 422);
    await post(
      certificate({ pem_certificate, pem_private_key: pem_private_key.slice(0, 150) }),
      422,
    );
    const pkcs12 = fixture('cert/push.test-pair.p12').toString('base64');
    await post(certificate({ pkcs12, password: PASSWORD }), 422);
    const { data } = await post(
      certificate({ pem_certificate: pem_private_key + pem_certificate }),
      201,
    );
    await post(certificate({ pem_certificate, pem_private_key, password: PASSWORD }), 409);
    const { id } = data[0].relationships.rsa_private_key.data;
    const name = { data: { type: 'rsa_private_keys', attributes: { name: 'renamed' } } };
    await noting((api) => api.patch(`/rsa_private_keys/${id}`, name), 200);
    await noting((api) => api.get('/rsa_private_keys?include=certificates'), 200);
    await noting((api) => api.get('/certificates?include=rsa_private_key'), 200);
    await noting((api) => api.get('/rsa_private_keys?fields[rsa_private_keys]=sealed_pkcs8'), 400);
    await noting((api) => api.get('/certificates?sort=pem_private_key'), 400);
    await noting((api) => api.get('/certificates?filter[password]=x'), 400);
    await noting((api) => api.delete(`/rsa_private_keys/${id}`), 409);

    const audit = JSON.stringify(await app.db.knex('audit_events'));
    const row = await app.db.knex('rsa_private_keys').where({ id }).first();
    const key = exportPrivateKey(identity.privateKey);
    const forbidden = [...secretsOf(key), PASSWORD, 'PRIVATE KEY', ...secretsOf(row.sealed_pkcs8)];
    const places = { answers: answers.join('\n'), log: app.logText(), audit };
    for (const [place, text] of Object.entries(places)) {
      expect(text.length).toBeGreaterThan(100);
      const found = forbidden.filter((secret) => text.includes(secret));
      expect([place, found]).toEqual([place, []]);
    }
    expect(SecretBox.isSealed(row.sealed_pkcs8)).toBe(true);
    const identityOfRow = privateKeyLabel(row.fingerprint_sha256);
    expect(app.box.open(row.sealed_pkcs8, identityOfRow)).toEqual(key);
  });
});

describe('a CA that is added', () => {
  let still: TestApp;
  beforeAll(async () => {
    still = await startApp({ isSweeping: false });
  });
  afterAll(() => still.stop());

  it('is trusted at once, no longer once it is deleted, and signs nothing', async () => {
    const authority = await makeAuthority();
    const device = await makeIdentity({ issuedBy: authority });
    const ids = { UDID: randomUUID() };
    const authenticate = () =>
      new TestDevice(still.url, device, device.certificate, ids).authenticate();
    expect((await authenticate()).status).toBe(400);
    const attributes = {
      pem_certificate: certificatePem(authority.certificate),
      pem_private_key: keyPem(authority),
    };
    const document = { data: { type: 'certificates', attributes } };
    const added = await adminApi(still).post('/ca_certificates', document);
    expect(added.status).toBe(201);
    await eventually(async () => (await authenticate()).status, 200);
    const { db, box } = still;
    const { logger } = capturingLogger();
    const signing = await ensureCertificateAuthority({ db, box, logger });
    expect(signing.certificate.subject).toBe(still.authority.certificate.subject);
    const path = `/certificates/${added.body.data[0].id}`;
    expect((await adminApi(still).delete(path)).body.errors[0].code).toBe('in_use');
    const enrolled = await db.knex('devices').where({ udid: ids.UDID }).first<{ id: number }>('id');
    await adminApi(still).delete(`/devices/${enrolled?.id}`).expect(204);
    await adminApi(still).delete(path).expect(204);
    await eventually(async () => (await authenticate()).status, 400);
  });
});

async function eventually<T>(look: () => Promise<T>, expected: T): Promise<void> {
  for (let attempt = 0; attempt < 100 && (await look()) !== expected; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(await look()).toBe(expected);
}
