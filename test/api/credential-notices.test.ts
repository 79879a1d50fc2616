import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { eventually } from '../push/push-fixture.js';
import { certificatePem, makeAuthority, makeIdentity } from '../resources/certificate-samples.js';

const DAY_MS = 86_400_000;

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

async function add(app: TestApp, purpose: string, days: number): Promise<number> {
  const overrides = { notAfter: inDays(days) };
  const isCa = purpose === 'mdm.cacert';
  const { certificate } = await (isCa ? makeAuthority(overrides) : makeIdentity(overrides));
  const attributes = { purpose, pem_certificate: certificatePem(certificate) };
  const data = { type: 'certificates', attributes };
  const { status, body } = await adminApi(app).post('/certificates', { data });
  expect([status, body.errors]).toEqual([201, undefined]);
  return body.data[0].id;
}

describe('a certificate that is added', () => {
  it('is checked once if it ends within 60 days and is not of a device', async () => {
    const app = await startApp({ isSweeping: false });
    const jobs = () => app.db.knex('jobs').where({ task: 'credentials.check' }).pluck('key');
    await add(app, 'mdm.cacert', 60.1);
    await add(app, 'mdm.device', 1);
    expect(await jobs()).toEqual([]);
    await add(app, 'mdm.cacert', 59.9);
    await add(app, 'dep.anchor', 2);
    expect(await jobs()).toEqual(['credentials.check']);
    await app.stop();
  });

  it('is recorded in the audit log within seconds, once', async () => {
    const app = await startApp();
    const recorded = () =>
      app.db
        .knex('audit_events')
        .where({ actor: 'system' })
        .orderBy('id')
        .select('action', 'target_id');
    const id = await add(app, 'mdm.cacert', 1);
    const line = { action: 'credentials.expiring', target_id: String(id) };
    await eventually(async () => expect(await recorded()).toEqual([line]));
    const other = await add(app, 'dep.anchor', 6);
    const second = { action: 'credentials.expiring', target_id: String(other) };
    await eventually(async () => expect(await recorded()).toEqual([line, second]));
    await app.stop();
  });
});
