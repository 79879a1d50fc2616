import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { ecIdentity } from '../../crypto/identities.js';
import { askForIdentity } from '../../enroll/renewal-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice } from '../../helpers/device.js';
import { expectPlainRefusal } from '../../mdm/conversation.js';
import { rotateAuthority, send, storedIdentity } from './revocation-fixture.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

describe('a certificate that is revoked', () => {
  const remove = (id: number) => adminApi(app).delete(`/certificates/${id}`);

  async function expectListed(id: number): Promise<void> {
    const { status, body } = await remove(id);
    expect([status, body.errors[0].code]).toEqual([409, 'in_use']);
    expect(body.errors[0].detail).toContain('the revocation list must name it until it expires');
  }

  async function remains(id: number): Promise<boolean> {
    return (await app.db.knex('certificates').where({ id }).first()) !== undefined;
  }

  it('by an admin is not deleted while a list must contain it', async () => {
    const { id, certificate } = await storedIdentity(app);
    expect((await adminApi(app).post(`/certificates/${id}/revoke`)).status).toBe(200);
    await expectListed(id);
    await rotateAuthority(app);
    await expectListed(id);
    const not_after = new Date(Date.now() - 6 * 86_400_000);
    const row = app.db.knex('certificates').where({ id });
    await row.clone().update({ not_after });
    await expectListed(id);
    await row.clone().update({ not_after: new Date(Date.now() - 8 * 86_400_000) });
    expect([(await remove(id)).status, await remains(id)]).toEqual([204, false]);
    const { fingerprint } = certificate;
    const pin = await app.db.knex('device_identities').where({ fingerprint }).first('state');
    expect(pin).toEqual({ state: 'revoked' });
  });

  it('by SCEP, which replaced it, is not deleted either', async () => {
    const profile = readProfileFile((await send(`${app.url}/enroll/profile`)).body);
    const first = (await createTestDevice(app)).with(await askForIdentity(app, profile));
    const another = { ...profile, scep: { ...profile.scep, subject: [] } };
    await askForIdentity(app, another);
    const { fingerprint } = first.certificate;
    const row = await app.db.knex('certificates').where({ fingerprint }).first();
    expect(row).toMatchObject({ revocation_reason: 'superseded', revoked_at: expect.any(Date) });
    await expectListed(row.id);
    expectPlainRefusal(await first.authenticate());
  });

  it('may be deleted when another CA issued it', async () => {
    const { certificate } = await ecIdentity('P-256');
    const record = certificateRecord(certificate, 'mdm.device');
    const id = await insertCertificate(app.db.knex, record);
    await adminApi(app).post(`/certificates/${id}/revoke`);
    expect([(await remove(id)).status, await remains(id)]).toEqual([204, false]);
  });
});
