import { createHash } from 'node:crypto';
import { insertToken } from '../../../src/db/admin/token-repository.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { freePort } from '../../helpers/process.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  const APNS_HOST = `https://127.0.0.1:${await freePort()}`;
  const PUBLIC_URL = `https://127.0.0.1:${await freePort()}`;
  app = await startApp({ isSweeping: false, env: { APNS_HOST, PUBLIC_URL, ENROLLMENT: 'link' } });
  api = adminApi(app);
});
afterAll(() => app.stop());

async function tokenOf(role: 'viewer' | 'operator'): Promise<string> {
  const token = `token-of-the-${role}`;
  const tokenHash = createHash('sha256').update(token).digest();
  await inTransaction(app.db, (trx) =>
    insertToken(trx, { name: role, role, tokenHash, expiresAt: null }),
  );
  return token;
}

describe('GET /doctor', () => {
  it('is refused without a token, to other roles, with parameters and by other methods', async () => {
    expect((await adminApi(app, 'none').get('/doctor')).status).toBe(401);
    for (const role of ['viewer', 'operator'] as const) {
      const { status, body } = await adminApi(app, await tokenOf(role)).get('/doctor');
      expect([status, body.errors[0].code]).toEqual([403, 'forbidden']);
    }
    expect((await api.get('/doctor?severity=error')).status).toBe(400);
    expect((await api.post('/doctor')).status).toBe(405);
  });

  it('shows the findings, the worst first, each with its reason and its cure', async () => {
    const { status, body } = await api.get('/doctor');
    expect([status, body.data.type, body.data.id]).toEqual([200, 'doctor_reports', 1]);
    const { status: worst, checked_at, findings } = body.data.attributes;
    expect([worst, Math.abs(Date.now() - Date.parse(checked_at)) < 10_000]).toEqual([
      'error',
      true,
    ]);
    const bySeverity = findings.map(({ severity }: { severity: string }) => severity);
    const rank = ['error', 'warning', 'ok'];
    expect(bySeverity).toEqual(
      [...bySeverity].sort((a: string, b: string) => rank.indexOf(a) - rank.indexOf(b)),
    );
    const codes = findings.map(({ code }: { code: string }) => code);
    expect(codes).toEqual(
      expect.arrayContaining([
        ...['public_address_unreachable', 'apns_unreachable', 'no_push_certificate', 'schema'],
        ...['https_without_certificate', 'server_not_running', 'master_key'],
        ...['data_dir_missing', 'database_synchronous_commit_off'],
      ]),
    );
    for (const { severity, why, cure } of findings) {
      expect([why !== null, cure !== null]).toEqual([severity !== 'ok', severity !== 'ok']);
    }
  });

  const codes = async (): Promise<string[]> =>
    (await api.get('/doctor')).body.data.attributes.findings.map(
      ({ code }: { code: string }) => code,
    );

  it('reports devices of a topic without a certificate until there is one', async () => {
    const { knex } = app.db;
    const topic = 'com.apple.mgmt.External.doctor';
    const [device] = await knex('devices')
      .insert({ is_enrolled: true, topic, push_state: 'ok' })
      .returning('id');
    expect(await codes()).toEqual(
      expect.arrayContaining(['no_push_certificate', 'devices_without_push_certificate']),
    );
    const key = await knex('rsa_private_keys').first('id');
    const [certificate] = await knex('certificates')
      .insert({
        ...{ purpose: 'mdm.pushcert', subject: 'CN=APSP', issuer: 'CN=Apple', serial: '1' },
        ...{ der: Buffer.from([1]), fingerprint: Buffer.alloc(32, 1), push_topic: topic },
        ...{ not_before: new Date(0), not_after: new Date(Date.now() + 20.5 * 86_400_000) },
        rsa_private_key_id: key.id,
      })
      .returning('id');
    const soon = (await codes()).filter((code) => code.includes('push_certificate'));
    expect(soon).toEqual(['push_certificate_expiring']);
    const expired = { not_after: new Date(Date.now() - 86_400_000) };
    await knex('certificates').where({ id: certificate.id }).update(expired);
    expect(await codes()).toEqual(expect.arrayContaining(['push_certificate_expired']));
    await knex('certificates')
      .where({ id: certificate.id })
      .update({
        not_after: new Date(Date.now() + 300 * 86_400_000),
      });
    expect((await codes()).filter((code) => /push_cert|topic/.test(code))).toEqual([]);
    await knex('certificates').where({ id: certificate.id }).delete();
    await knex('devices').where({ id: device.id }).delete();
  });

  it('ends a finding once its cause is gone', async () => {
    expect(await codes()).toContain('server_not_running');
    await app.container.announce();
    expect(await codes()).toContain('processes');
    expect(await codes()).not.toContain('server_not_running');
  });
});
