import type { ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { markRevoked } from '../../../src/db/pki/identity-revocation.js';
import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { ocspRequest, readOcspResponse } from '../../crypto/x509/ocsp-messages.js';
import {
  askForIdentity,
  createDueDevice,
  fetchCommand,
  profileIn,
  runRenewals,
} from '../../enroll/renewal-fixture.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../../helpers/device.js';
import { parseCrl } from '../../helpers/parse-crl.js';
import { ALL_MESSAGES, expectPlainRefusal } from '../../mdm/conversation.js';
import { recordsOf } from '../../mdm/records.js';
import { dumpRows } from '../../mdm/rows.js';
import { eventually } from '../../push/push-fixture.js';
import { send } from './revocation-fixture.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

const { rowOf, commandsOf, pinOf } = recordsOf(() => app);

/** The certificate that SCEP issues for the profile. */
async function newIdentity(): Promise<ParsedCertificate> {
  return askForIdentity(app, readProfileFile((await send(`${app.url}/enroll/profile`)).body));
}

/** Not enrolled yet. */
async function newDevice(): Promise<TestDevice> {
  return (await createTestDevice(app)).with(await newIdentity());
}

async function idOf({ certificate }: TestDevice): Promise<number> {
  const found = await adminApi(app).get(`/certificates?filter[serial]=${certificate.serialHex}`);
  return found.body.data[0].id;
}

async function revoke(device: TestDevice, reason = 'unspecified') {
  const id = await idOf(device);
  const { status, body } = await adminApi(app).post(`/certificates/${id}/revoke`, { reason });
  expect(status).toBe(200);
  const revokedAt = new Date(body.data[0].attributes.revoked_at);
  revokedAt.setUTCMilliseconds(0);
  return { revokedAt, meta: body.meta, id };
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
  it('is refused at its next contact, whatever it sends, while others are served', async () => {
    const lost = await (await newDevice()).enroll();
    const other = await (await newDevice()).enroll();
    expect(commandIn(await lost.idle())).toBeDefined();
    expect(await statusBy(lost)).toEqual({ isListed: false, ocsp: 'good' });

    const { revokedAt, meta } = await revoke(lost, 'privilegeWithdrawn');
    const { id: device } = await rowOf(lost);
    expect(meta).toEqual({ count: 1, device, further_certificates: [] });
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

  it('cannot enroll while the revocation is under way', async () => {
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

describe('a device whose certificate is revoked while it is being renewed', () => {
  /** Has an identity from SCEP, and a renewed one that it has not used. */
  async function renewing() {
    const old = await createDueDevice(app, await newDevice());
    await runRenewals(app);
    const offered = await fetchCommand(old, 'InstallProfile');
    const profile = profileIn(offered?.command ?? {});
    const renewed = old.with(await askForIdentity(app, profile));
    expect(await pinOf(renewed)).toMatchObject({ state: 'renewal' });
    return { old, renewed, profile, device: (await rowOf(old)).id };
  }

  const renewals = (device_id: number) => app.db.knex('identity_renewals').where({ device_id });

  const audited = (id: number) =>
    app.db.knex('audit_events').where({ action: 'certificates.revoke', target_id: id }).first();

  it.each([
    ['the one that it uses', 'old', 'renewed'],
    ['the one that it was to use', 'renewed', 'old'],
  ] as const)('loses both, when %s is revoked', async (_which, first, second) => {
    const fixture = await renewing();
    const { device } = fixture;
    const { revokedAt, meta, id } = await revoke(fixture[first], 'keyCompromise');
    const further_certificates = [await idOf(fixture[second])];
    expect(meta).toEqual({ count: 1, device, further_certificates });
    const details = { reason: 'keyCompromise', force: false, device, further_certificates };
    expect((await audited(id)).details).toEqual(details);
    for (const each of [fixture.old, fixture.renewed]) {
      expect(await pinOf(each)).toMatchObject({ state: 'revoked', device_id: device });
      expect(await statusBy(each)).toEqual({ isListed: true, ocsp: { revokedAt, reason: 1 } });
    }
    const before = await dumpRows(app.db);
    for (const [, say] of ALL_MESSAGES) {
      for (const each of [fixture.old, fixture.renewed]) expectPlainRefusal(await say(each));
    }
    expect(await dumpRows(app.db)).toEqual(before);
  });

  it('is not renewed, neither by a pending offer nor by a later one', async () => {
    const { old, profile, device } = await renewing();
    await revoke(old);
    expect(await renewals(device)).toEqual([]);
    expect((await commandsOf(old)).at(-1)).toEqual({
      request_type: 'InstallProfile',
      status: 'Cancelled',
      reason: 'the identity was revoked',
    });
    const another = { ...profile, scep: { ...profile.scep, subject: [] } };
    for (const asked of [profile, another]) {
      const refused = askForIdentity(app, asked);
      await expect(refused).rejects.toThrow('the CA refused the request: badRequest');
    }
    await runRenewals(app);
    expect(await renewals(device)).toEqual([]);
  });

  it('gets no identity from a profile that it has not used yet', async () => {
    const old = await createDueDevice(app, await newDevice());
    await runRenewals(app);
    const offered = await fetchCommand(old, 'InstallProfile');
    await revoke(old);
    const asked = askForIdentity(app, profileIn(offered?.command ?? {}));
    await expect(asked).rejects.toThrow('the CA refused the request: badRequest');
    expect(app.logText()).toContain('the enrollment of this challenge is over');
  });

  it('may enroll again, and the new identity stays valid', async () => {
    const { old, renewed } = await renewing();
    await revoke(renewed);
    const anew = await old.with(await newIdentity()).enroll();
    expect((await anew.idle()).status).toBe(200);
    expect(await rowOf(anew)).toMatchObject({ enrollment_number: 2, is_enrolled: true });
    expect(await pinOf(anew)).toMatchObject({ state: 'active' });
  });

  it('is not affected when the certificate was a former one', async () => {
    const { old, renewed } = await renewing();
    expect((await renewed.idle()).status).toBe(200);
    expect((await revoke(old)).meta).toEqual({ count: 1 });
    expect((await renewed.idle()).status).toBe(200);
    expect(await statusBy(renewed)).toEqual({ isListed: false, ocsp: 'good' });
  });
});
