import request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { makeVendor, PushPortal, type Vendor } from '../../pki/push-certificates/push-portal.js';
import { certificatePem, keyPem } from '../../resources/certificate-samples.js';

const CONTEXT = {
  requestId: 'push request',
  actor: { name: 'test', role: 'admin' as const },
  sourceAddress: null,
};

let app: TestApp;
let vendor: Vendor;
let id: number;

const path = () => `/certificate_signing_requests/${id}/push_request`;

function document(type: string, attributes: Record<string, unknown>) {
  return { data: { type, attributes } };
}

async function created(collection: string, type: string, attributes: Record<string, unknown>) {
  const reply = await adminApi(app).post(collection, document(type, attributes));
  expect([reply.status, reply.body.errors]).toEqual([201, undefined]);
  const [{ id: made }] = [reply.body.data].flat();
  return made as number;
}

const addRequest = (attributes: Record<string, unknown>) =>
  created('/certificate_signing_requests', 'certificate_signing_requests', attributes);

const audited = () =>
  app.db
    .knex('audit_events')
    .where({ action: 'certificate_signing_requests.push_request' })
    .select('actor', 'target_type', 'target_id', 'outcome');

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  vendor = await makeVendor();
  id = await addRequest({ purpose: 'mdm.pushcert', subject: 'CN=push' });
});
afterAll(() => app.stop());

describe('GET /api/v1/certificate_signing_requests/{id}/push_request', () => {
  it('requires the role admin', async () => {
    for (const role of ['viewer', 'operator'] as const) {
      const { token } = await createToken(app.db, { name: role, role }, CONTEXT);
      expect((await adminApi(app, token).get(path())).status).toBe(403);
    }
    expect((await request(app.app).get(`/api/v1${path()}`)).status).toBe(401);
  });

  it('answers 404 for an unknown id, 400 for parameters, 405 for other methods', async () => {
    const { get, post } = adminApi(app);
    for (const other of ['999999', 'x', '0']) {
      const reply = await get(`/certificate_signing_requests/${other}/push_request`);
      expect([reply.status, reply.body.errors[0].code]).toEqual([404, 'not_found']);
    }
    const reply = await get(`${path()}?format=der`);
    expect([reply.status, reply.body.errors[0].code]).toEqual([400, 'invalid_parameter']);
    const { status, headers } = await post(path(), {});
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('answers 409 without a vendor certificate, with what to do', async () => {
    const { status, body } = await adminApi(app).get(path());
    expect([status, body.errors[0].code]).toEqual([409, 'no_vendor_certificate']);
    expect(body.errors[0].detail).toMatch(
      /^No vendor certificate is stored here\. .*\(1\).*\(2\).*\(3\)/,
    );
  });

  it('answers 409 for a request of another purpose', async () => {
    const other = await addRequest({ purpose: 'mdm.webcrt', subject: 'CN=www.example.com' });
    const reply = await adminApi(app).get(`/certificate_signing_requests/${other}/push_request`);
    expect([reply.status, reply.body.errors[0].code]).toEqual([409, 'conflict']);
    expect(await audited()).toEqual([]);
  });

  it('returns the file once a vendor certificate is stored, and audits it', async () => {
    const certificates = [vendor.leaf.certificate, ...vendor.chain];
    await created('/certificates', 'certificates', {
      purpose: 'mdm.vendor',
      pem_certificate: certificates.map(certificatePem).join(''),
      pem_private_key: keyPem(vendor.leaf),
    });
    const { status, headers, text } = await adminApi(app).get(path());
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'text/plain',
      'attachment; filename=push-certificate-request.plist',
    ]);
    expect(headers['cache-control']).toBe('no-store');
    const portal = await PushPortal.open(vendor);
    const topic = 'com.apple.mgmt.External.push-request';
    expect(portal.submit(Buffer.from(text), topic)).toContain('BEGIN CERTIFICATE');
    expect(await audited()).toEqual([
      {
        actor: 'ADMIN_TOKEN',
        target_type: 'certificate_signing_requests',
        target_id: String(id),
        outcome: 'success',
      },
    ]);
  });

  it('returns no private key', async () => {
    const { text } = await adminApi(app).get(path());
    const xml = Buffer.from(text, 'base64').toString('utf8');
    expect(xml).not.toContain('PRIVATE');
    const key = exportPrivateKey(vendor.leaf.privateKey).toString('base64');
    expect(xml).not.toContain(key.slice(200, 260));
  });
});
