import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { secretLabel } from '../../src/db/devices/device-repository.js';
import { type ApnsStandIn, startApnsStandIn } from '../../src/lab/apns/apns-stand-in.js';
import { createPushCertificateLoader } from '../../src/push/push-certificates.js';
import { failureOf, pushCertFixture } from '../cli/push-cert/push-cert-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { makeVendor, PushPortal, type Vendor } from '../pki/push-certificates/push-portal.js';
import { eventually } from '../push/push-fixture.js';
import { certificatePem, keyPem } from '../resources/certificate-samples.js';

const ACCOUNT = 'mdm@example.com';
const TOPIC = 'com.apple.mgmt.External.7e000000-0000-4000-8000-000000000001';
const OTHER_TOPIC = 'com.apple.mgmt.External.7e000000-0000-4000-8000-000000000002';

let vendor: Vendor;
/** One CA that the push service does not trust, and one that it does. */
let distrusted: PushPortal;
let portal: PushPortal;
let standIn: ApnsStandIn;
let app: TestApp;
let fixture: ReturnType<typeof pushCertFixture>;

beforeAll(async () => {
  vendor = await makeVendor();
  distrusted = await PushPortal.open(vendor);
  portal = await PushPortal.open(vendor);
  standIn = await startApnsStandIn({ authority: portal.pushCa });
  const ca = `${temporaryDirectory()}/apns-ca.pem`;
  writeFileSync(ca, standIn.caPem);
  app = await startApp({ env: { APNS_HOST: standIn.url, APNS_CA_FILE: ca } });
  const { db, box, config } = app;
  fixture = pushCertFixture({ db, box, config });
});
afterAll(async () => {
  await app.stop();
  await standIn.close();
  removeTemporaryDirectories();
});

async function warnings(): Promise<string[]> {
  const { body } = await adminApi(app).get('/credentials');
  return body.data.attributes.warnings.map(({ code }: { code: string }) => code);
}

async function create(collection: string, type: string, attributes: Record<string, unknown>) {
  const reply = await adminApi(app).post(collection, { data: { type, attributes } });
  expect([reply.status, reply.body.errors]).toEqual([201, undefined]);
  return [reply.body.data].flat()[0] as { id: number; attributes: Record<string, unknown> };
}

/** Enrolled under the topic, with a push token. */
async function addDevice(): Promise<number> {
  const { db, box } = app;
  const row = { is_enrolled: true, enrollment_state: 'enrolled', topic: TOPIC, push_state: 'ok' };
  const [{ id }] = await db.knex('devices').insert({ ...row, udid: randomUUID() }, 'id');
  const push = { token: randomBytes(32).toString('hex'), push_magic: randomUUID() };
  const sealed_push = box.seal(Buffer.from(JSON.stringify(push)), secretLabel(id, 'push'));
  await db.knex('devices').where({ id }).update({ sealed_push });
  return id;
}

async function loaded(): Promise<string | undefined> {
  const { db, box } = app;
  return (await createPushCertificateLoader({ db, box })(TOPIC))?.certificate;
}

/** Status and reason of the push service's answer. */
async function push(device: number): Promise<unknown[]> {
  const { body } = await adminApi(app).post(`/devices/${device}/push`);
  return [body.data?.attributes.status_code, body.data?.attributes.reason];
}

describe('a push certificate, from nothing to a renewal', () => {
  let device: number;

  it('comes by the API: vendor certificate, request, portal, upload', async () => {
    expect(await warnings()).toContain('no_push_certificate');
    await create('/certificates', 'certificates', {
      purpose: 'mdm.vendor',
      pem_certificate: [vendor.leaf.certificate, ...vendor.chain].map(certificatePem).join(''),
      pem_private_key: keyPem(vendor.leaf),
    });
    const { id } = await create('/certificate_signing_requests', 'certificate_signing_requests', {
      purpose: 'mdm.pushcert',
      subject: 'CN=push',
      apple_account: ACCOUNT,
    });
    const file = await adminApi(app).get(`/certificate_signing_requests/${id}/push_request`);
    expect(file.status).toBe(200);
    const pem = distrusted.submit(Buffer.from(file.text), TOPIC);
    const { attributes } = await create('/push_certificates', 'certificates', {
      pem_certificate: pem,
    });
    expect(attributes).toMatchObject({ push_topic: TOPIC, apple_account: ACCOUNT });
    expect(await warnings()).not.toContain('no_push_certificate');
    expect(await loaded()).toBe(pem);
    device = await addDevice();
    // Presented, which is why it is the push service that refuses it.
    expect(await push(device)).toEqual([403, 'BadCertificate']);
  });

  it('is renewed by the command line, and the running server pushes with the new one', async () => {
    const out = fixture.file('renewal');
    const requested = await fixture.request({ out });
    expect(requested.error).toBeUndefined();
    expect(requested.text).toContain(`UID ${TOPIC}`);
    expect(requested.text).toContain(`Apple Account ${ACCOUNT}`);
    const pem = portal.submit(readFileSync(out), TOPIC);
    writeFileSync(fixture.file('renewed.pem'), pem);
    const imported = await fixture.import({ cert: [fixture.file('renewed.pem')] });
    expect(imported.error).toBeUndefined();
    expect(imported.text).toContain(`Apple Account: ${ACCOUNT}`);
    expect(await loaded()).toBe(pem);
    await eventually(async () => expect(await push(device)).toEqual([200, null]));
    expect([...standIn.tokens()].map(({ accepted }) => accepted)).toEqual([1]);
  });

  it('is refused with another topic, by both ways, and says what would happen', async () => {
    const out = fixture.file('other');
    await fixture.request({ out });
    const pem = portal.submit(readFileSync(out), OTHER_TOPIC);
    writeFileSync(fixture.file('other.pem'), pem);
    const text = new RegExp(
      `the topic of this push certificate is ${OTHER_TOPIC}, but the enrolled devices listen to ` +
        `another: 1 to ${TOPIC} \\(of the Apple account ${ACCOUNT}\\)\\. .* enroll anew`,
    );
    const [code, message] = failureOf(await fixture.import({ cert: [fixture.file('other.pem')] }));
    expect(code).toBe('push_topic_mismatch');
    expect(message).toMatch(text);
    const { status, body } = await adminApi(app).post('/push_certificates', {
      data: { type: 'certificates', attributes: { pem_certificate: pem } },
    });
    expect([status, body.errors[0].code]).toEqual([409, 'push_topic_mismatch']);
    expect(body.errors[0].detail).toMatch(text);
    const topics = await app.db.knex('certificates').distinct('push_topic').pluck('push_topic');
    expect(topics).not.toContain(OTHER_TOPIC);
  });

  it('leaves no private key in any output or file', () => {
    for (const name of ['renewal', 'renewed.pem', 'other']) {
      expect(readFileSync(fixture.file(name), 'latin1')).not.toContain('PRIVATE KEY');
    }
    expect(app.logText()).not.toContain('PRIVATE KEY');
  });
});
