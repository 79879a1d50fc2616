import request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { insertCertificate, insertPrivateKey } from '../../../src/db/pki/certificate-repository.js';
import type { RequestContext } from '../../../src/jsonapi/context.js';
import { formatTimestamp } from '../../../src/jsonapi/definition/values.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { asAuthority, ecIdentity, identityOf } from '../../crypto/identities.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice, type TestDevice, TOPIC } from '../../helpers/device.js';
import { rotateAuthority, storedIdentity } from '../../pki/revocation/revocation-fixture.js';
import { eventually } from '../../push/push-fixture.js';

const REASONS =
  'reason must be one of unspecified, keyCompromise, cACompromise, affiliationChanged, superseded, ' +
  'cessationOfOperation, privilegeWithdrawn';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const revoke = (id: number | string, body: object = {}, query = '') =>
  adminApi(app).post(`/certificates/${id}/revoke${query}`, body);

const rowOf = (id: number) => app.db.knex('certificates').where({ id }).first();

const audited = (id: number) =>
  app.db
    .knex('audit_events')
    .where({ action: 'certificates.revoke', target_id: id })
    .orderBy('id')
    .select('actor', 'role', 'outcome', 'details');

async function refused(id: number, query = ''): Promise<string> {
  const { status, body } = await revoke(id, {}, query);
  const [{ code, detail }] = body.errors;
  expect([status, code]).toEqual([409, 'in_use']);
  const row = await rowOf(id);
  const line = { actor: 'ADMIN_TOKEN', role: 'admin', outcome: 'refused', details: { code } };
  expect([row.revoked_at, row.revocation_reason]).toEqual([null, null]);
  expect((await audited(id)).at(-1)).toEqual(line);
  return detail;
}

/** A device that is enrolled, with its certificate in the list as SCEP leaves it there. */
async function enrolledDevice(): Promise<{ device: TestDevice; id: number }> {
  app.authority = app.container.authorities.current;
  const device = await createTestDevice(app);
  const record = certificateRecord(device.certificate, 'mdm.device');
  const id = await insertCertificate(app.db.knex, record);
  await device.enroll();
  return { device, id };
}

async function pushCertificate(topic: string): Promise<number> {
  const subject = [{ type: 'UID', value: topic }];
  const { certificate } = identityOf(await generateEcKeyPair(), { subject });
  const keyId = await insertPrivateKey(app.db.knex, {
    name: null,
    key_type: 'EC',
    key_size: 256,
    sealed_pkcs8: Buffer.alloc(64),
    fingerprint_sha256: certificate.fingerprint.toString('hex'),
  });
  const record = certificateRecord(certificate, 'mdm.pushcert');
  return await insertCertificate(app.db.knex, { ...record, rsa_private_key_id: keyId });
}

const stateOf = async ({ fingerprint }: ParsedCertificate) =>
  (await app.db.knex('device_identities').where({ fingerprint }).first())?.state;

describe('POST /certificates/{id}/revoke', () => {
  it('requires the role admin', async () => {
    const { id } = await storedIdentity(app);
    const context = { requestId: 'r', actor: { name: 'cli', role: 'admin' }, sourceAddress: null };
    const input = { name: 'op', role: 'operator' } as const;
    const { token } = await createToken(app.db, input, context as RequestContext);
    const answer = await adminApi(app, token).post(`/certificates/${id}/revoke`);
    expect(answer.status).toBe(403);
    expect((await rowOf(id)).revoked_at).toBeNull();
    const details = { code: 'forbidden' };
    const line = { actor: 'op', role: 'operator', outcome: 'refused', details };
    expect(await audited(id)).toEqual([line]);
  });

  it('answers 404 for an unknown id, and 400 for query parameters', async () => {
    const { id } = await storedIdentity(app);
    expect((await revoke(987_654)).status).toBe(404);
    expect((await revoke('x')).status).toBe(404);
    expect((await revoke(id, {}, '?force=1')).status).toBe(400);
    expect((await revoke(id, {}, '?sure=true')).status).toBe(400);
    expect((await adminApi(app).get(`/certificates/${id}/revoke`)).status).toBe(405);
    expect((await rowOf(id)).revoked_at).toBeNull();
  });

  it.each([
    [{ reason: 'boredom' }, '/reason', REASONS],
    [{ reason: 'certificateHold' }, '/reason', REASONS],
    [{ why: 'x' }, '/why', 'the body has no member "why"; known: reason'],
    [
      { data: { type: 'certificates', attributes: { reason: 7 } } },
      '/data/attributes/reason',
      REASONS,
    ],
    [
      { data: { type: 'certificates', attributes: { a: 1 } } },
      '/data/attributes/a',
      'attributes has no member "a"; known: reason',
    ],
    [{ data: { type: 'devices' } }, '/data/type', 'data.type must be certificates'],
    [{ data: null }, '/data', 'data must be an object'],
  ])('refuses %j', async (body, pointer, detail) => {
    const { id } = await storedIdentity(app);
    const answer = await revoke(id, body);
    const [fault] = answer.body.errors;
    expect([answer.status, fault.source, fault.detail]).toEqual([422, { pointer }, detail]);
    expect((await rowOf(id)).revoked_at).toBeNull();
  });

  it.each([
    ['', { reason: 7, why: 'x', how: 'y' }],
    ['/data/attributes', { reason: 'boredom', why: 'x', how: 'y' }],
  ])('reports wrong values and unknown members of %j at once', async (place, attributes) => {
    const { id } = await storedIdentity(app);
    const body = place === '' ? attributes : { data: { type: 'certificates', attributes } };
    const answer = await revoke(id, body);
    const whole = place === '' ? 'the body' : 'attributes';
    const faults = (answer.body.errors as { detail: string; source: object }[]).map(
      ({ detail, source }) => [source, detail],
    );
    expect([answer.status, ...faults]).toEqual([
      422,
      [{ pointer: `${place}/reason` }, REASONS],
      [{ pointer: `${place}/why` }, `${whole} has no member "why"; known: reason`],
      [{ pointer: `${place}/how` }, `${whole} has no member "how"; known: reason`],
    ]);
    expect((await rowOf(id)).revoked_at).toBeNull();
  });

  it.each([
    [
      { type: 'devices', attributes: { reason: 'boredom' } },
      [
        [{ pointer: '/data/type' }, 'data.type must be certificates'],
        [{ pointer: '/data/attributes/reason' }, REASONS],
      ],
    ],
    [{ attributes: {} }, [[{ pointer: '/data/type' }, 'data.type must be certificates']]],
    [[], [[{ pointer: '/data' }, 'data must be an object']]],
  ])('reports a wrong document and its attributes at once: %j', async (data, faults) => {
    const { id } = await storedIdentity(app);
    const answer = await revoke(id, { data });
    const found = (answer.body.errors as { detail: string; source: object }[]).map(
      ({ detail, source }) => [source, detail],
    );
    expect([answer.status, found]).toEqual([422, faults]);
    expect((await rowOf(id)).revoked_at).toBeNull();
  });

  it('lists the known members beside the first ten unknown ones', async () => {
    const { id } = await storedIdentity(app);
    const names = Array.from({ length: 12 }, (_, index) => `x${index}`);
    const answer = await revoke(id, Object.fromEntries(names.map((name) => [name, 1])));
    expect(answer.body.errors.map(({ detail }: { detail: string }) => detail)).toEqual(
      names.map(
        (name, index) => `the body has no member "${name}"${index < 10 ? '; known: reason' : ''}`,
      ),
    );
  });

  it('refuses a body that is no JSON', async () => {
    const { id } = await storedIdentity(app);
    const send = (type: string, text: string) =>
      request(app.app)
        .post(`/api/v1/certificates/${id}/revoke`)
        .set({ Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': type })
        .send(text);
    expect((await send('application/json', '{')).status).toBe(400);
    expect((await send('text/plain', 'x')).status).toBe(415);
  });

  it.each([
    ['without a reason', undefined, 'unspecified'],
    ['flat', { reason: 'keyCompromise' }, 'keyCompromise'],
    ['as a document', { data: { type: 'certificates' } }, 'unspecified'],
    [
      'as a document with a reason',
      { data: { type: 'certificates', attributes: { reason: 'superseded' } } },
      'superseded',
    ],
  ])('revokes, %s, and answers with the certificate', async (_how, body, reason) => {
    const { id, certificate } = await storedIdentity(app);
    const { status, body: answer } = await revoke(id, body);
    const { revoked_at } = await rowOf(id);
    expect(status).toBe(200);
    expect(answer.meta).toEqual({ count: 1 });
    expect(answer.data).toHaveLength(1);
    expect(answer.data[0]).toMatchObject({
      type: 'certificates',
      id,
      attributes: {
        serial: certificate.serialHex,
        revoked_at: formatTimestamp(revoked_at),
        revocation_reason: reason,
      },
    });
    expect(Math.abs(Date.now() - revoked_at.getTime())).toBeLessThan(10_000);
    const details = { reason, force: false };
    expect(await audited(id)).toEqual([
      { actor: 'ADMIN_TOKEN', role: 'admin', outcome: 'success', details },
    ]);
  });

  it('does not change a certificate that was revoked before', async () => {
    const { id } = await storedIdentity(app);
    const first = await revoke(id, { reason: 'keyCompromise' });
    const second = await revoke(id, { reason: 'superseded' });
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect((await audited(id)).map(({ details }) => details)).toEqual([
      { reason: 'keyCompromise', force: false },
      { already_revoked: true },
    ]);
  });

  it('runs once for one Idempotency-Key', async () => {
    const { id } = await storedIdentity(app);
    const once = () => revoke(id).set('Idempotency-Key', `revoke-${id}`);
    const [first, second] = [await once(), await once()];
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(await audited(id)).toHaveLength(1);
  });

  it('revokes the identity of a device, a renewed one, and an unused one', async () => {
    const { device, id } = await enrolledDevice();
    const [renewal, unused] = [await storedIdentity(app), await storedIdentity(app)];
    const { device_id } = await app.db
      .knex('device_identities')
      .where({ fingerprint: device.certificate.fingerprint })
      .first();
    await app.db.knex('device_identities').insert({
      fingerprint: renewal.certificate.fingerprint,
      device_id,
      state: 'renewal',
    });
    for (const each of [id, renewal.id, unused.id]) await revoke(each);
    expect(await stateOf(device.certificate)).toBe('revoked');
    expect(await stateOf(renewal.certificate)).toBe('revoked');
    expect(await stateOf(unused.certificate)).toBe('revoked');
    expect((await device.with(unused.certificate).authenticate()).status).toBe(403);
  });

  it('leaves a tombstone: the device is to unenroll', async () => {
    const { device, id } = await enrolledDevice();
    const { fingerprint } = device.certificate;
    const { device_id } = await app.db.knex('device_identities').where({ fingerprint }).first();
    expect((await adminApi(app).delete(`/devices/${device_id}`)).status).toBe(204);
    await revoke(id);
    expect(await stateOf(device.certificate)).toBe('tombstone');
  });

  it('never revokes the CA that issues', async () => {
    const { id } = app.container.authorities.current;
    expect(await refused(id)).toContain('muster ca rotate');
    expect(await refused(id, '?force=true')).toContain('muster ca rotate');
  });

  it('revokes a CA that devices depend on only by force, and they are refused', async () => {
    const devices = [(await enrolledDevice()).device, (await enrolledDevice()).device];
    const counted = await app.db
      .knex('devices')
      .where({ enrollment_state: 'enrolled' })
      .whereIn(
        'id',
        app.db.knex('device_identities').where({ state: 'active' }).select('device_id'),
      )
      .count('* as count')
      .first();
    const former = await rotateAuthority(app);
    const newcomer = (await enrolledDevice()).device;
    expect(await refused(former)).toContain(
      `${counted?.count} enrolled devices identify themselves`,
    );
    for (const device of devices) expect((await device.idle()).status).toBe(200);
    expect((await revoke(former, { reason: 'cACompromise' }, '?force=true')).status).toBe(200);
    for (const device of devices) {
      const { status, body } = await device.idle();
      expect([status, body.length]).toEqual([400, 0]);
    }
    expect((await newcomer.idle()).status).toBe(200);
  });

  it.each(['mdm.cacert', 'mdm.webcrt', 'mdm.vendor', 'mdm.pushcert'] as const)(
    'allows the deletion of a certificate for %s that was issued elsewhere',
    async (purpose) => {
      const { certificate } = await ecIdentity('P-256', asAuthority);
      const record = { ...certificateRecord(certificate, purpose), push_topic: null };
      const id = await insertCertificate(app.db.knex, record);
      expect((await revoke(id)).status).toBe(200);
      expect((await adminApi(app).delete(`/certificates/${id}`)).status).toBe(204);
    },
  );

  it('revokes the only push certificate of enrolled devices only with force', async () => {
    await enrolledDevice();
    const [only, unused] = [await pushCertificate(TOPIC), await pushCertificate(`${TOPIC}.other`)];
    expect(await refused(only)).toContain('pushes by this certificate alone');
    expect((await revoke(unused)).status).toBe(200);
    const second = await pushCertificate(TOPIC);
    expect((await revoke(only)).status).toBe(200);
    expect(await refused(second)).toContain('force=true');
    expect((await revoke(second, {}, '?force=true')).status).toBe(200);
  });
});

describe('a CA that was revoked', () => {
  it('is trusted by no process', async () => {
    const other = await startApp({ database: app.database });
    try {
      const { device } = await enrolledDevice();
      const there = await createTestDevice({ ...app, url: other.url });
      const same = there.as(device.ids).with(device.certificate);
      expect((await same.idle()).status).toBe(200);
      const former = await rotateAuthority(app);
      await revoke(former, {}, '?force=true');
      await eventually(async () => expect((await same.idle()).status).toBe(400));
    } finally {
      await other.halt();
    }
  });
});
