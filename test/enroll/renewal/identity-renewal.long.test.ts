import { createHash } from 'node:crypto';
import { insertToken } from '../../../src/db/admin/token-repository.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice, type TestDevice } from '../../helpers/device.js';
import { recordsOf } from '../../mdm/records.js';
import { createDueDevice, fetchCommand, renewalsOf, runRenewals } from '../renewal-fixture.js';

const HOUR_MS = 3_600_000;
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  for (const table of ['devices', 'scep_configurations']) await app.db.knex(table).delete();
});

const { rowOf, newIdentity } = recordsOf(() => app);

async function renewalOf(device: TestDevice) {
  const { id } = await rowOf(device);
  return await app.db.knex('identity_renewals').where({ device_id: id }).first();
}

async function installs(device: TestDevice) {
  const { id } = await rowOf(device);
  return await app.db
    .knex('commands')
    .where({ device_id: id, request_type: 'InstallProfile' })
    .orderBy('id');
}

/** What lies in the future comes to pass. */
function timePasses(columns: Record<string, unknown> = {}) {
  return app.db.knex('identity_renewals').update({ next_attempt_at: new Date(), ...columns });
}

describe('identities that are not renewed', () => {
  async function expectNone(device: TestDevice) {
    expect(await runRenewals(app)).toEqual([]);
    expect(await installs(device)).toEqual([]);
    expect(await app.db.knex('identity_renewals')).toEqual([]);
  }

  it('have more than a third of their life left', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const pin = await app.db.knex('device_identities').first();
    const { notBefore, notAfter } = device.certificate;
    expect(pin.not_after).toEqual(notAfter);
    const left = (notAfter.getTime() - pin.renew_at.getTime()) * 3;
    expect(Math.abs(left - (notAfter.getTime() - notBefore.getTime()))).toBeLessThan(5);
    await expectNone(device);
  });

  it('have an unknown life', async () => {
    const device = await createDueDevice(app);
    await app.db.knex('device_identities').update({ renew_at: null, not_after: null });
    await expectNone(device);
  });

  it('belong to devices that have left', async () => {
    const device = await createDueDevice(app);
    await device.checkOut();
    await expectNone(device);
  });

  it('belong to devices that are not enrolled yet', async () => {
    const device = await createTestDevice(app);
    await device.authenticate();
    await app.db.knex('device_identities').update({ renew_at: new Date(0) });
    await expectNone(device);
  });

  it('belong to user enrollments whose account is not known', async () => {
    const device = await createTestDevice(app, { EnrollmentID: 'enrollment-1' });
    await device.enroll();
    await app.db.knex('device_identities').update({ renew_at: new Date(0) });
    expect(await runRenewals(app)).toEqual([]);
    expect(await app.db.knex('identity_renewals')).toEqual([]);
  });

  it.each(['renewal', 'superseded', 'revoked'])('are in the state %s', async (state) => {
    const device = await createDueDevice(app);
    await app.db.knex('device_identities').update({ state });
    await expectNone(device);
  });

  it('include all while identities come from an external CA, which is logged', async () => {
    const device = await createDueDevice(app);
    await app.db.knex('scep_configurations').insert({ source_type: 'ExternalSCEP' });
    const lines = await runRenewals(app);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [20, 'no identity is renewed: source_type of the SCEP configuration is not InternalSCEP'],
    ]);
    expect(await installs(device)).toEqual([]);
  });

  it('include all once the process is asked to stop', async () => {
    const device = await createDueDevice(app);
    await runRenewals(app, AbortSignal.abort());
    expect(await installs(device)).toEqual([]);
  });
});

describe('an identity that is due', () => {
  it('is renewed by one command, however many processes run the task at once', async () => {
    const devices = [await createDueDevice(app), await createDueDevice(app)];
    await Promise.all([runRenewals(app), runRenewals(app), runRenewals(app)]);
    await runRenewals(app);
    for (const device of devices) expect(await installs(device)).toHaveLength(1);
  });

  it('is tracked by a row that names the command', async () => {
    const device = await createDueDevice(app);
    const before = Date.now();
    const lines = await runRenewals(app);
    expect(lines).toEqual([
      expect.objectContaining({ begun: 1, queued: 1, renewed: 0, failed: 0 }),
    ]);
    const [command] = await installs(device);
    const row = await renewalOf(device);
    expect(row).toMatchObject({
      fingerprint: device.certificate.fingerprint,
      command_id: command.id,
      attempts: 1,
      problem: null,
    });
    const wait = row.next_attempt_at.getTime() - before;
    expect(wait).toBeGreaterThanOrEqual(HOUR_MS);
    expect(wait).toBeLessThan(HOUR_MS + 60_000);
  });

  it('is not queued a second time while the device sleeps', async () => {
    const device = await createDueDevice(app);
    await runRenewals(app);
    for (const status of ['Queued', 'Sent', 'NotNow']) {
      await app.db.knex('commands').where({ is_pending: true }).update({ status });
      await timePasses();
      await runRenewals(app);
      expect(await installs(device)).toHaveLength(1);
      expect((await renewalOf(device)).next_attempt_at.getTime()).toBeGreaterThan(Date.now());
    }
  });

  it('is retried after growing pauses, each from the time of the refusal', async () => {
    const device = await createDueDevice(app);
    const hours: number[] = [];
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await runRenewals(app);
      const offered = await fetchCommand(device, 'InstallProfile');
      await device.report(offered?.uuid ?? '', 'Error', {
        ErrorChain: [{ ErrorCode: 4001, ErrorDomain: 'D', LocalizedDescription: 'No network.' }],
      });
      await timePasses();
      const lines = await runRenewals(app);
      const row = await renewalOf(device);
      const command = (await installs(device)).at(-1);
      expect(lines[0]).toMatchObject({
        level: 40,
        attempts: attempt,
        problem: 'the device answered Error: No network.',
        msg: 'an identity was not renewed',
      });
      expect(row).toMatchObject({
        command_id: null,
        attempts: attempt,
        problem: 'the device answered Error: No network.',
      });
      hours.push((row.next_attempt_at.getTime() - command.acknowledged_at.getTime()) / HOUR_MS);
      expect(await installs(device)).toHaveLength(attempt);
      await runRenewals(app);
      expect(await installs(device)).toHaveLength(attempt);
      await timePasses();
    }
    expect(hours).toEqual([1, 4, 24, 72, 168, 168]);
  });

  it('is retried when the profile was installed a day ago without a new identity', async () => {
    const device = await createDueDevice(app);
    await runRenewals(app);
    const offered = await fetchCommand(device, 'InstallProfile');
    await device.report(offered?.uuid ?? '');
    await timePasses();
    await runRenewals(app);
    expect(await renewalOf(device)).toMatchObject({ problem: null, attempts: 1 });
    const acknowledged_at = new Date(Date.now() - 25.5 * HOUR_MS);
    await app.db.knex('commands').where({ uuid: offered?.uuid }).update({ acknowledged_at });
    await timePasses();
    await runRenewals(app);
    expect(await renewalOf(device)).toMatchObject({
      command_id: null,
      attempts: 1,
      problem: 'the profile was installed, but no new identity was used',
      next_attempt_at: new Date(acknowledged_at.getTime() + 25 * HOUR_MS),
    });
    await runRenewals(app);
    expect(await installs(device)).toHaveLength(2);
    expect(await renewalOf(device)).toMatchObject({ attempts: 2, problem: null });
  });

  it('is retried when an admin cancelled or deleted the command', async () => {
    const device = await createDueDevice(app);
    await runRenewals(app);
    const [command] = await installs(device);
    await adminApi(app).patch(`/commands/${command.id}`, {
      data: { type: 'commands', id: command.id, attributes: { status: 'Cancelled' } },
    });
    await timePasses();
    await runRenewals(app);
    expect(await renewalOf(device)).toMatchObject({
      problem: 'the command is Cancelled: cancelled by an administrator',
    });
    await timePasses();
    await runRenewals(app);
    const second = (await installs(device)).at(-1);
    expect((await adminApi(app).delete(`/commands/${second.id}`)).status).toBe(204);
    await timePasses();
    await runRenewals(app);
    expect(await renewalOf(device)).toMatchObject({ attempts: 3, problem: null });
  });

  it('is no longer tracked when the device unenrolls, is deleted, or its identity is revoked', async () => {
    const [left, deleted, revoked] = [
      await createDueDevice(app),
      await createDueDevice(app),
      await createDueDevice(app),
    ];
    await runRenewals(app);
    expect(await app.db.knex('identity_renewals')).toHaveLength(3);
    await left.checkOut();
    const { id } = await rowOf(deleted);
    await adminApi(app).delete(`/devices/${id}`);
    const { fingerprint } = revoked.certificate;
    await app.db.knex('device_identities').where({ fingerprint }).update({ state: 'revoked' });
    await timePasses();
    await runRenewals(app);
    expect(await app.db.knex('identity_renewals')).toEqual([]);
  });

  it('is no longer tracked when the device enrolls again, and its command is removed', async () => {
    const device = await createDueDevice(app);
    await runRenewals(app);
    const again = device.with(await newIdentity());
    await again.enroll();
    expect(await installs(again)).toMatchObject([{ status: 'Cancelled', reason: 're-enrolled' }]);
    await timePasses();
    await runRenewals(app);
    expect(await app.db.knex('identity_renewals')).toEqual([]);
    expect(await installs(again)).toHaveLength(1);
  });

  it('is renewed in the order of the remaining lifetime, with a limit for each run', async () => {
    const [later, sooner] = [await createDueDevice(app), await createDueDevice(app)];
    const { fingerprint } = sooner.certificate;
    const earlier = { renew_at: new Date(Date.now() - 48 * HOUR_MS) };
    await app.db.knex('device_identities').where({ fingerprint }).update(earlier);
    expect(await renewalsOf(app).begin(1)).toBe(1);
    expect(await renewalOf(sooner)).toBeDefined();
    expect(await renewalOf(later)).toBeUndefined();
    expect(await renewalsOf(app).begin(5)).toBe(1);
    expect(await renewalsOf(app).begin(5)).toBe(0);
  });

  it('spreads the pushes of many devices until the next run', async () => {
    for (let count = 0; count < 12; count += 1) await createDueDevice(app);
    await app.db.knex('device_pushes').delete();
    await runRenewals(app);
    const times: Date[] = await app.db.knex('device_pushes').pluck('due_at');
    const minutes = times.map((time) => (time.getTime() - Date.now()) / 60_000);
    expect(minutes).toHaveLength(12);
    expect(Math.max(...minutes)).toBeLessThan(9);
    expect(Math.max(...minutes) - Math.min(...minutes)).toBeGreaterThan(2);
  });
});

describe('the renewal by an admin', () => {
  const renew = (id: number | string) => adminApi(app).post(`/devices/${id}/renew_identity`);

  async function refusal(id: number | string) {
    const { status, body } = await renew(id);
    return [status, body.errors[0].code, body.errors[0].detail];
  }

  it('is refused for a device that is unknown, not enrolled, or without an identity', async () => {
    expect((await refusal(987_654)).slice(0, 2)).toEqual([404, 'not_found']);
    const device = await createTestDevice(app);
    await device.authenticate();
    const { id } = await rowOf(device);
    expect(await refusal(id)).toEqual([409, 'conflict', `device ${id} is not enrolled`]);
    await device.tokenUpdate();
    await app.db.knex('device_identities').update({ state: 'revoked' });
    expect(await refusal(id)).toEqual([
      409,
      'conflict',
      `device ${id} has no valid identity left; it has to enroll again`,
    ]);
    await app.db.knex('device_identities').update({ state: 'active' });
    await device.checkOut();
    expect((await refusal(id)).slice(0, 2)).toEqual([409, 'device_unenrolled']);
    expect(await installs(device)).toEqual([]);
    expect(await app.db.knex('identity_renewals')).toEqual([]);
  });

  it('is refused for a user enrollment whose account is not known', async () => {
    const device = await createTestDevice(app, { EnrollmentID: 'enrollment-2' });
    await device.enroll();
    const { id } = await app.db.knex('devices').first('id');
    const detail = `device ${id} is enrolled for a user without a known account`;
    expect(await refusal(id)).toEqual([409, 'conflict', detail]);
    expect(await app.db.knex('identity_renewals')).toEqual([]);
  });

  it('is refused while identities come from an external CA', async () => {
    const device = await (await createTestDevice(app)).enroll();
    await app.db.knex('scep_configurations').insert({ source_type: 'ExternalSCEP' });
    const { id } = await rowOf(device);
    const detail = 'only identities by the internal SCEP are renewed';
    expect(await refusal(id)).toEqual([409, 'conflict', detail]);
  });

  it('is queued at once, whatever lifetime is left, and not again until it is answered', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const { id } = await rowOf(device);
    const { status, body } = await renew(id);
    expect([status, body.data.attributes.request_type]).toEqual([201, 'InstallProfile']);
    expect(body.data.attributes.parameters).toEqual({
      Payload: {
        PayloadIdentifier: 'dev.muster.enroll',
        PayloadUUID: expect.any(String),
        PayloadDisplayName: expect.any(String),
        size: expect.any(Number),
      },
    });
    const [command] = await installs(device);
    expect(body.data.id).toBe(command.id);
    const detail = `device ${id} is being renewed by command ${command.id} (Queued)`;
    expect(await refusal(id)).toEqual([409, 'conflict', detail]);
    const audited = await app.db.knex('audit_events').where({ action: 'devices.renew_identity' });
    expect(audited.at(-1)).toMatchObject({ target_id: String(id), outcome: 'success' });
    await app.db.knex('commands').where({ id: command.id }).update({ status: 'Error' });
    expect((await renew(id)).status).toBe(201);
    expect(await renewalOf(device)).toMatchObject({ attempts: 2, problem: null });
  });

  it('queues one command for many requests at once, with the scheduled task among them', async () => {
    const device = await createDueDevice(app);
    const { id } = await rowOf(device);
    const [, ...replies] = await Promise.all([runRenewals(app), renew(id), renew(id), renew(id)]);
    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 409 && status !== 201)).toEqual([]);
    expect(await installs(device)).toHaveLength(1);
  });

  it('starts again when the last one has resulted in another identity', async () => {
    const device = await createDueDevice(app);
    const { id } = await rowOf(device);
    await renew(id);
    const renewed = device.with(await newIdentity());
    await app.db.knex('device_identities').insert({
      fingerprint: renewed.certificate.fingerprint,
      device_id: id,
      state: 'renewal',
      udid: device.udid,
    });
    await renewed.idle();
    expect((await renew(id)).status).toBe(201);
    expect(await renewalOf(device)).toMatchObject({
      fingerprint: renewed.certificate.fingerprint,
      attempts: 1,
    });
  });

  it('is refused to viewers', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const { id } = await rowOf(device);
    const tokenHash = createHash('sha256').update('token-of-a-viewer').digest();
    const row = { name: 'viewer', role: 'viewer', tokenHash, expiresAt: null } as const;
    await inTransaction(app.db, (trx) => insertToken(trx, row));
    const reader = adminApi(app, 'token-of-a-viewer');
    expect((await reader.post(`/devices/${id}/renew_identity`)).status).toBe(403);
    expect(await installs(device)).toEqual([]);
  });

  it('does not let its command be moved to another device', async () => {
    const [one, other] = [await createDueDevice(app), await createDueDevice(app)];
    const [{ id }, { id: otherId }] = [await rowOf(one), await rowOf(other)];
    const { body } = await renew(id);
    const moved = await adminApi(app).post(`/devices/${otherId}/relationships/commands`, {
      data: [{ type: 'commands', id: body.data.id }],
    });
    expect([moved.status, moved.body.errors[0].code]).toEqual([409, 'conflict']);
    expect(moved.body.errors[0].detail).toMatch(/holds a secret of device/);
  });
});
