import { createPrivateKey } from 'node:crypto';
import request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import { exportPrivateKey, importPrivateKey } from '../../../src/crypto/keys/keys.js';
import type { Role } from '../../../src/jsonapi/context.js';
import type { Identity } from '../../crypto/identities.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  certificatePem,
  keyPem,
  makeAuthority,
  makeIdentity,
} from '../../resources/certificate-samples.js';

const CONTEXT = {
  requestId: 'download',
  actor: { name: 'download', role: 'admin' as const },
  sourceAddress: null,
};

let app: TestApp;
let tokens: Record<Role, string>;
beforeAll(async () => {
  app = await startApp();
  const token = async (role: Role) =>
    (await createToken(app.db, { name: role, role }, CONTEXT)).token;
  tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: ADMIN_TOKEN };
});
afterAll(() => app.stop());

interface Stored {
  identity: Identity;
  id: number;
  keyId: number;
}

async function store(identity: Identity, collection = 'ssl_certificates'): Promise<Stored> {
  const attributes = {
    pem_certificate: certificatePem(identity.certificate),
    pem_private_key: keyPem(identity),
  };
  const { status, body } = await adminApi(app).post(`/${collection}?force=true`, {
    data: { type: 'certificates', attributes },
  });
  expect(status).toBe(201);
  const [{ id, relationships }] = body.data;
  return { identity, id, keyId: relationships.rsa_private_key.data.id };
}

const asBytes = (response: request.Test) =>
  response.buffer(true).parse((stream, done) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => done(null, Buffer.concat(chunks)));
  });

function download(path: string, { role = 'admin' as Role, accept = '*/*' } = {}) {
  const get = request(app.app).get(`/api/v1${path}`).set('Authorization', `Bearer ${tokens[role]}`);
  return asBytes(get.set('Accept', accept));
}

async function refusal(path: string, role: Role = 'admin') {
  const { status, body } = await adminApi(app, tokens[role]).get(path);
  return [status, body.errors[0].code, body.errors[0].source?.parameter];
}

const auditLines = (outcome = 'success') =>
  app.db.knex('audit_events').where({ action: 'rsa_private_keys.download', outcome }).orderBy('id');

const refusalsOf = async (keyId: number) =>
  (await auditLines('refused'))
    .filter(({ target_id }) => target_id === String(keyId))
    .map(({ actor, role, details }) => [actor, role, details]);

describe('the download of a certificate', () => {
  it('is PEM unless DER is asked for, whatever Accept says', async () => {
    const { id, identity } = await store(await makeIdentity());
    const pem = Buffer.from(certificatePem(identity.certificate));
    for (const accept of ['*/*', 'application/vnd.api+json', 'text/html', 'application/pkcs8']) {
      const response = await download(`/download/certificates/${id}`, { role: 'viewer', accept });
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toBe('application/x-pem-file');
      expect(response.headers['content-disposition']).toBe('attachment; filename=certificate.pem');
      expect(response.headers['cache-control']).toBe('no-store');
      expect(response.body).toEqual(pem);
    }
    const der = await download(`/download/certificates/${id}/?format=der`);
    expect(der.headers['content-type']).toBe('application/pkix-cert');
    expect(der.headers['content-disposition']).toBe('attachment; filename=certificate.cer');
    expect(der.body).toEqual(identity.certificate.der);
    const named = await download(`/download/certificates/${id}?format=pem`);
    expect(named.body).toEqual(pem);
  });

  it('refuses unknown parameters and formats', async () => {
    const { id } = await store(await makeIdentity());
    const path = `/download/certificates/${id}`;
    expect(await refusal('/download/certificates/999999')).toEqual([404, 'not_found', undefined]);
    expect(await refusal('/download/certificates/x')).toEqual([404, 'not_found', undefined]);
    expect(await refusal(`${path}?format=p12`)).toEqual([400, 'invalid_parameter', 'format']);
    expect(await refusal(`${path}?form=der`)).toEqual([400, 'invalid_parameter', 'form']);
    for (const chain of ['', 'yes', 'TRUE', '1']) {
      expect(await refusal(`${path}?chain=${chain}`)).toEqual([400, 'invalid_parameter', 'chain']);
    }
    const { status, headers } = await adminApi(app).post(path);
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

describe('the download of a private key', () => {
  it('requires the role admin', async () => {
    const { keyId } = await store(await makeIdentity());
    for (const role of ['viewer', 'operator'] as const) {
      expect(await refusal(`/rsa_private_keys/${keyId}/download`, role)).toEqual([
        403,
        'forbidden',
        undefined,
      ]);
    }
    const nobody = await request(app.app).get(`/api/v1/rsa_private_keys/${keyId}/download`);
    expect(nobody.status).toBe(401);
    expect(await auditLines()).toEqual([]);
    expect(await refusalsOf(keyId)).toEqual([
      ['viewer', 'viewer', { code: 'forbidden' }],
      ['operator', 'operator', { code: 'forbidden' }],
    ]);
  });

  it('never returns the key of a CA', async () => {
    const { keyId } = await store(await makeAuthority(), 'ca_certificates');
    const own = await app.db
      .knex('certificates')
      .where({ fingerprint: app.authority.certificate.fingerprint })
      .first('rsa_private_key_id');
    for (const id of [keyId, own.rsa_private_key_id]) {
      const path = `/rsa_private_keys/${id}/download`;
      expect(await refusal(path)).toEqual([403, 'forbidden', undefined]);
      expect(await refusal(`${path}?format=der`)).toEqual([403, 'forbidden', undefined]);
      const line = ['ADMIN_TOKEN', 'admin', { code: 'forbidden' }];
      expect(await refusalsOf(id)).toEqual([line, line]);
    }
    const csr = await adminApi(app).post('/certificate_signing_requests', {
      data: {
        type: 'certificate_signing_requests',
        attributes: { subject: 'CN=new CA', purpose: 'mdm.cacert', key_type: 'EC' },
      },
    });
    const { id } = csr.body.data.relationships.rsa_private_key.data;
    expect(await refusal(`/rsa_private_keys/${id}/download`)).toEqual([
      403,
      'forbidden',
      undefined,
    ]);
    expect(await auditLines()).toEqual([]);
  });

  it('never returns a key that was once the key of a CA', async () => {
    const refused = [403, 'forbidden', undefined];
    const deleted = await store(await makeAuthority(), 'ca_certificates');
    expect((await adminApi(app).delete(`/certificates/${deleted.id}`)).status).toBe(204);
    expect(await refusal(`/rsa_private_keys/${deleted.keyId}/download`)).toEqual(refused);

    const { body: key } = await adminApi(app).get(`/rsa_private_keys/${deleted.keyId}`);
    expect([key.data].flat()[0].attributes.is_ca_key).toBe(true);

    const unlinked = await store(await makeAuthority(), 'ca_certificates');
    const data = { type: 'certificates', id: unlinked.id };
    const none = { relationships: { rsa_private_key: { data: null } } };
    const patch = await adminApi(app).patch(`/certificates/${unlinked.id}`, {
      data: { ...data, ...none },
    });
    expect(patch.status).toBe(200);
    expect(await refusal(`/rsa_private_keys/${unlinked.keyId}/download`)).toEqual(refused);

    const csr = await adminApi(app).post('/certificate_signing_requests', {
      data: {
        type: 'certificate_signing_requests',
        attributes: { subject: 'CN=CA to be', purpose: 'mdm.cacert', key_type: 'EC' },
      },
    });
    const { id, relationships } = csr.body.data;
    const path = `/certificate_signing_requests/${id}`;
    expect((await adminApi(app).delete(path)).status).toBe(204);
    const requested = relationships.rsa_private_key.data.id;
    expect(await refusal(`/rsa_private_keys/${requested}/download`)).toEqual(refused);
  });

  it('is PKCS #8 in PEM, or in DER on request, each time with an audit line', async () => {
    const { keyId, identity } = await store(await makeIdentity());
    const path = `/rsa_private_keys/${keyId}/download`;
    const der = exportPrivateKey(identity.privateKey);
    const pem = await download(path, { accept: 'application/vnd.api+json' });
    expect(pem.headers['content-type']).toBe('application/x-pem-file');
    expect(pem.headers['content-disposition']).toBe('attachment; filename=rsa_private_key.pem');
    expect(pem.headers['cache-control']).toBe('no-store');
    expect(pem.body.toString()).toBe(keyPem(identity));
    expect(importPrivateKey(pem.body).equals(createPrivateKey(keyPem(identity)))).toBe(true);
    for (const asked of [
      await download(path, { accept: 'application/pkcs8' }),
      await download(path, { accept: 'application/pkcs8, */*;q=0.1' }),
      await download(`${path}?format=der`),
    ]) {
      expect(asked.headers['content-type']).toBe('application/pkcs8');
      expect(asked.headers['content-disposition']).toBe('attachment; filename=rsa_private_key.p8');
      expect(asked.body).toEqual(der);
    }
    const both = await download(`${path}?format=pem`, { accept: 'application/pkcs8' });
    expect(both.body).toEqual(pem.body);
    const lines = await auditLines();
    expect(lines.map(({ target_id, details }) => [target_id, details.format])).toEqual(
      ['pem', 'der', 'der', 'der', 'pem'].map((format) => [String(keyId), format]),
    );
    expect(lines[0]).toMatchObject({ actor: 'ADMIN_TOKEN', role: 'admin', outcome: 'success' });
  });

  it('refuses unknown parameters and formats', async () => {
    const { keyId } = await store(await makeIdentity());
    const before = [await auditLines(), await auditLines('refused')];
    const missing = await refusal('/rsa_private_keys/999999/download');
    expect(missing).toEqual([404, 'not_found', undefined]);
    for (const format of ['PEM', 'jwk', '']) {
      const path = `/rsa_private_keys/${keyId}/download?format=${format}`;
      expect(await refusal(path)).toEqual([400, 'invalid_parameter', 'format']);
    }
    const chain = await refusal(`/rsa_private_keys/${keyId}/download?chain=true`);
    expect(chain).toEqual([400, 'invalid_parameter', 'chain']);
    expect([await auditLines(), await auditLines('refused')]).toEqual(before);
  });

  it('is disabled with KEY_EXPORT=off', async () => {
    const { keyId } = await store(await makeIdentity());
    const closed = await startApp({ env: { KEY_EXPORT: 'off' }, database: app.database });
    const { status, body } = await adminApi(closed).get(`/rsa_private_keys/${keyId}/download`);
    await closed.halt();
    expect([status, body.errors[0].code]).toEqual([403, 'key_export_off']);
    expect(await refusalsOf(keyId)).toEqual([['ADMIN_TOKEN', 'admin', { code: 'key_export_off' }]]);
  });
});
