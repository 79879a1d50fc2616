import { randomUUID } from 'node:crypto';
import { createToken } from '../../../src/auth/api-tokens.js';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice, TestDevice } from '../../helpers/device.js';

const PATH = '/ca_certificates/rotate';

async function until(isSo: () => boolean): Promise<number> {
  const start = performance.now();
  while (!isSo()) {
    if (performance.now() - start > 10_000) throw new Error('it never came to pass');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - start;
}

describe('POST /api/v1/ca_certificates/rotate', () => {
  let app: TestApp;
  /** Another process of the same server. */
  let other: TestApp;

  beforeAll(async () => {
    app = await startApp();
    other = await startApp({ database: app.database });
  });
  afterAll(async () => {
    await other.halt();
    await app.stop();
  });

  const authorityRows = () =>
    app.db.knex('certificates').where({ is_own_ca: true }).orderBy('id').select();

  it('requires the role admin', async () => {
    const context = {
      requestId: randomUUID(),
      actor: { name: 'tests', role: 'admin' as const },
      sourceAddress: null,
    };
    const input = { name: 'op', role: 'operator' as const, expiresAt: null };
    const { token } = await createToken(app.db, input, context);
    expect((await adminApi(app, token).post(PATH)).status).toBe(403);
    expect(await authorityRows()).toHaveLength(1);
    const lines = app.db.knex('audit_events').where({ actor: 'op' });
    expect(await lines.select('action', 'outcome', 'target_id', 'details')).toEqual([
      {
        action: 'ca_certificates.rotate',
        outcome: 'refused',
        target_id: null,
        details: { code: 'forbidden' },
      },
    ]);
  });

  it.each([
    [{ key_size: 1024 }, '/key_size', 'key_size must be one of 2048, 3072, 4096'],
    [
      { data: { attributes: { key_size: '3072' } } },
      '/data/attributes/key_size',
      'key_size must be one of 2048, 3072, 4096',
    ],
    [{ name: 'Mine' }, '/name', 'the body has no member "name"; known: key_size'],
    [[], '', 'the body must be an object'],
  ])('refuses %j and changes nothing', async (body, pointer, detail) => {
    const reply = await adminApi(app).post(PATH, body);
    expect(reply.status).toBe(422);
    const [fault] = reply.body.errors;
    expect([fault.source, fault.detail]).toEqual([{ pointer }, detail]);
    expect(await authorityRows()).toHaveLength(1);
  });

  it('makes every process issue by the new CA within two seconds, while devices are served', async () => {
    const former = app.container.authorities.current;
    const device = await (await createTestDevice(other)).enroll();
    const reply = await adminApi(app).post(PATH, { key_size: 3072 });
    expect(reply.status).toBe(201);
    const [{ id, type, attributes }] = reply.body.data;
    expect(reply.headers.location).toBe(`/api/v1/certificates/${id}`);
    expect({ type, ...attributes }).toMatchObject({
      type: 'certificates',
      purpose: 'mdm.cacert',
      is_ca: true,
      revoked_at: null,
      subject: app.container.authorities.current.certificate.subject,
    });
    expect(app.container.authorities.current.id).toBe(id);
    expect(app.container.authorities.all()).toEqual([app.container.authorities.current, former]);
    expect(await until(() => other.container.authorities.current.id === id)).toBeLessThan(2_000);
    const answer = await fetch(`${other.url}/scep?operation=GetCACert`);
    const { der } = app.container.authorities.current.certificate;
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(der);
    expect((await device.idle()).status).toBe(200);
    const profile = await (await fetch(`${other.url}/enroll/profile`)).text();
    expect(profile.replace(/\s/g, '')).toContain(der.toString('base64'));
    const rows = await authorityRows();
    expect(rows.map((row) => [row.id, row.issues_identities])).toEqual([
      [former.id, false],
      [id, true],
    ]);
  });

  it.each(['P-256', 'P-384'] as const)('issues identities of %s that work', async (curve) => {
    const keys = await generateEcKeyPair(curve);
    const { publicKey } = keys;
    for (const authority of app.container.authorities.all()) {
      const certificate = authority.issueDeviceCertificate({ publicKey, subject: [] });
      const device = new TestDevice(other.url, keys, certificate, { UDID: randomUUID() });
      await device.enroll();
      const reply = await device.idle();
      expect(reply.status).toBe(200);
      expect(reply.body.includes('CommandUUID')).toBe(true);
    }
  });

  it('makes one CA for the same Idempotency-Key, and another audit line without one', async () => {
    const before = (await authorityRows()).length;
    const send = () => adminApi(app).post(PATH).set('Idempotency-Key', 'rotate-once');
    const [one, again] = [await send(), await send()];
    expect([one.status, again.status]).toEqual([201, 201]);
    expect(again.body.data[0].id).toBe(one.body.data[0].id);
    expect(await authorityRows()).toHaveLength(before + 1);
    const action = 'ca_certificates.rotate';
    const audited = app.db.knex('audit_events').where({ action, outcome: 'success' });
    const targets = await audited.orderBy('id').select('target_id', 'actor');
    expect(targets.map(({ target_id }) => Number(target_id))).toEqual(
      (await authorityRows()).slice(1).map(({ id }) => id),
    );
  });

  it('keeps the CA that issues, and one that has issued, from being deleted', async () => {
    const [, second] = await authorityRows();
    const { current } = app.container.authorities;
    const signs = await adminApi(app).delete(`/certificates/${current.id}`);
    expect([signs.status, signs.body.errors[0].code]).toEqual([409, 'in_use']);
    expect(signs.body.errors[0].detail).toContain('new identities of devices are issued by it');
    const issued = await adminApi(app).delete(`/certificates/${second.id}`);
    expect(issued.status).toBe(409);
    expect(issued.body.errors[0].detail).not.toContain('new identities of devices');
  });
});
