import { type ParsedCertificate, parseCertificate } from '../../src/crypto/certificate.js';
import { parseCrl } from '../../src/crypto/parse-crl.js';
import { markRevoked } from '../../src/db/revocation-repository.js';
import { readProfileFile } from '../../src/lab/enrollment-profile.js';
import { HttpClient } from '../../src/lab/http-client.js';
import { Random } from '../../src/lab/random.js';
import { requestIdentity } from '../../src/lab/scep-client.js';
import { createSimulatedDevice } from '../../src/lab/simulated-device.js';
import { ocspRequest, readOcspResponse } from '../crypto/ocsp-messages.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, deviceKeys, type TestDevice } from '../helpers/device.js';
import { eventually } from '../push/push-world.js';
import { send } from './revocation-world.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

/** What SCEP issues by the profile. */
async function newIdentity(): Promise<ParsedCertificate> {
  const http = new HttpClient({ patienceMs: 1_000, signal: new AbortController().signal });
  const { scep } = readProfileFile((await send(`${app.url}/enroll/profile`)).body);
  const { certificate } = await requestIdentity({
    http,
    scep: { ...scep, url: scep.url.replace(app.config.publicUrl, app.url) },
    device: createSimulatedDevice({ platform: 'iOS', random: new Random('device') }),
    keys: await deviceKeys(),
  });
  return parseCertificate(certificate);
}

/** Not enrolled yet. */
async function newDevice(): Promise<TestDevice> {
  return (await createTestDevice(app)).with(await newIdentity());
}

async function revoke({ certificate }: TestDevice, reason = 'unspecified'): Promise<Date> {
  const found = await adminApi(app).get(`/certificates?filter[serial]=${certificate.serialHex}`);
  const { id } = found.body.data[0];
  const { status, body } = await adminApi(app).post(`/certificates/${id}/revoke`, { reason });
  expect(status).toBe(200);
  const revokedAt = new Date(body.data[0].attributes.revoked_at);
  revokedAt.setUTCMilliseconds(0);
  return revokedAt;
}

async function statusBy({ certificate }: TestDevice) {
  const { keyId, certificate: issuer } = app.container.authorities.current;
  const crl = parseCrl((await send(`${app.url}/crl/${keyId}.crl`)).body);
  const body = ocspRequest(issuer, { serials: [certificate.serialHex] });
  const answer = await send(`${app.url}/ocsp`, { method: 'POST', body });
  const [status] = readOcspResponse(answer.body).statuses;
  return { isListed: crl.revoked.has(certificate.serialHex), ocsp: status };
}

describe('a device whose certificate is revoked', () => {
  it('is refused at its next contact, whatever it says, while others go on', async () => {
    const lost = await (await newDevice()).enroll();
    const other = await (await newDevice()).enroll();
    expect(commandIn(await lost.idle())).toBeDefined();
    expect(await statusBy(lost)).toEqual({ isListed: false, ocsp: 'good' });

    const revokedAt = await revoke(lost, 'privilegeWithdrawn');
    for (const reply of [
      await lost.idle(),
      await lost.tokenUpdate(),
      await lost.authenticate(),
      await lost.checkOut(),
    ]) {
      expect([reply.status, reply.body.length]).toEqual([403, 0]);
    }
    expect(await statusBy(lost)).toEqual({ isListed: true, ocsp: { revokedAt, reason: 9 } });

    expect(commandIn(await other.idle())).toBeDefined();
    expect(await statusBy(other)).toEqual({ isListed: false, ocsp: 'good' });
  });

  it('may enroll again with a new one', async () => {
    const device = await (await newDevice()).enroll();
    await revoke(device);
    expect((await device.idle()).status).toBe(403);
    const anew = await device.with(await newIdentity()).enroll();
    expect((await anew.idle()).status).toBe(200);
    expect((await device.idle()).status).toBe(403);
  });

  it('does not get in while the revocation is under way', async () => {
    const { db } = app;
    const device = await newDevice();
    const { fingerprint } = device.certificate;
    const { id } = await db.knex('certificates').where({ fingerprint }).first();
    const trx = await db.knex.transaction();
    await markRevoked(trx, id, 'keyCompromise');
    const reply = device.authenticate();
    await eventually(async () => {
      const waiting = await db
        .knex('pg_stat_activity')
        .where({ wait_event_type: 'Lock', datname: db.knex.raw('current_database()') });
      expect(waiting).toHaveLength(1);
    });
    await trx.commit();
    expect((await reply).status).toBe(503);
    expect((await device.authenticate()).status).toBe(403);
    const pins = await db.knex('device_identities').where({ fingerprint });
    expect(pins.map(({ state, device_id }) => [state, device_id])).toEqual([['revoked', null]]);
  });
});
