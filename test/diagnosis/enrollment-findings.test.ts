import { deviceKeys, issueIdentity } from '../helpers/device.js';
import {
  ago,
  DAY_MS,
  type DiagnosisTest,
  type Enrolled,
  startDiagnosis,
} from './diagnosis-helpers.js';

let test: DiagnosisTest;
let one: Enrolled;
beforeAll(async () => {
  test = await startDiagnosis({ env: { REPLACE_ENROLLED: 'allow' } });
});
afterAll(() => test.app.stop());
beforeEach(async () => {
  one = await test.enroll();
  await test.answerAll(one);
});

const knex = () => test.app.db.knex;
const codes = () => test.codes(one.id);
const identity = () => knex()('device_identities').where({ device_id: one.id, state: 'active' });
const newIdentity = async () => issueIdentity(test.app.authority, await deviceKeys());

describe('an enrollment', () => {
  it('that never finished is found after twice SETUP_TIMEOUT, until it does', async () => {
    await one.device.checkOut();
    await one.device.authenticate();
    expect(await test.diagnosis(one.id)).toMatchObject({ health: null, findings: [] });
    await test.set(one.id, { authenticated_at: ago(29 * 60_000) });
    expect(await codes()).toEqual([]);
    await test.set(one.id, { authenticated_at: new Date('2026-11-01T07:05:00Z') });
    expect(await test.diagnosis(one.id)).toMatchObject({
      health: 'stuck',
      findings: [
        {
          code: 'enrollment_incomplete',
          severity: 'stuck',
          since: '2026-11-01T07:05:00+00:00',
          action: null,
        },
      ],
    });
    await one.device.tokenUpdate();
    expect(await codes()).toEqual([]);
  });

  it('that the device ended is no fault, but is reported as the reason', async () => {
    await one.device.checkOut();
    expect(await test.diagnosis(one.id)).toMatchObject({
      health: null,
      findings: [{ code: 'unenrolled', severity: 'info', action: null }],
    });
    await one.device.enroll();
    expect(await test.diagnosis(one.id)).toMatchObject({ health: 'ok', findings: [] });
  });

  it('that was replaced without proof is found for 7 days', async () => {
    const other = one.device.with(await newIdentity());
    await other.enroll();
    const { message, advice } = await test.finding(one.id, 'enrollment_replaced');
    expect(message).toMatch(
      /^A new enrollment that did not prove its serial number replaced the live one on .* UTC\.$/,
    );
    expect(advice).toContain('Check a live enrollment that was replaced');
    const then = { enrollment_replaced_at: ago(8 * DAY_MS), enrolled_at: ago(8 * DAY_MS) };
    await test.set(one.id, then);
    expect(await codes()).toEqual([]);
  });

  it('that was replaced and then proved, or made again, is not found', async () => {
    await one.device.with(await newIdentity()).enroll();
    await test.set(one.id, { proven_serial: 'C02' });
    expect(await codes()).toEqual([]);
    await test.set(one.id, { proven_serial: null, enrollment_replaced_at: ago(2 * DAY_MS) });
    expect(await codes()).toEqual([]);
  });
});

describe('a device that was erased', () => {
  it('is found from its answer until it enrolls again', async () => {
    const id = await test.queue(one.id, 'EraseDevice');
    expect(await codes()).toEqual([]);
    await test.answerAll(one, 'Error');
    expect(await codes()).toEqual([]);
    const next = await test.queue(one.id, 'EraseDevice');
    expect(next).toBeGreaterThan(id);
    await test.answerAll(one);
    const command = await test.app.db.knex('commands').where({ id: next }).first();
    const { severity, since, message, advice, action } = await test.finding(one.id, 'erased');
    expect([severity, Date.parse(since), action]).toEqual([
      'attention',
      command.acknowledged_at.getTime(),
      null,
    ]);
    expect(message).toMatch(/^The device was erased on .* UTC: it acknowledged EraseDevice/);
    expect(message).toContain(`(command ${next})`);
    expect(advice).toContain(`DELETE /api/v1/devices/${one.id}`);
    const again = one.device.with(await newIdentity());
    await again.authenticate();
    expect(await codes()).toEqual([]);
    await again.tokenUpdate();
    await test.answerAll({ id: one.id, device: again });
    expect(await codes()).not.toContain('erased');
  });

  it('is found no more once it has checked out', async () => {
    await test.queue(one.id, 'EraseDevice');
    await test.answerAll(one);
    expect(await codes()).toEqual(['erased']);
    await one.device.checkOut();
    expect(await codes()).toEqual(['unenrolled']);
  });
});

describe('an enrollment that is held', () => {
  let holding: DiagnosisTest;
  beforeAll(async () => {
    holding = await startDiagnosis({ env: { REPLACE_ENROLLED: 'hold' } });
  });
  afterAll(() => holding.app.stop());

  it('is found until its action, the approval, is carried out', async () => {
    const owner = await holding.enroll();
    await holding.answerAll(owner);
    const keys = await deviceKeys();
    const attempt = owner.device.with(issueIdentity(holding.app.authority, keys));
    expect((await attempt.authenticate()).status).toBe(403);
    const [{ id }] = await holding.app.db.knex('enrollment_requests');
    const found = await holding.finding(owner.id, 'enrollment_held');
    expect([found.message, found.action]).toEqual([
      expect.stringMatching(new RegExp(`\\(request ${id}, 1 attempts?, the last on .* UTC\\)\\.$`)),
      { method: 'POST', path: `/api/v1/enrollment_requests/${id}/approve`, body: null },
    ]);
    expect((await holding.act(found)).status).toBe(200);
    expect(await holding.codes(owner.id)).toEqual([]);
  });
});

describe('an identity', () => {
  it('that ends soon is renewed by the action', async () => {
    await identity().update({ created_at: ago(360 * DAY_MS), not_after: ago(-29 * DAY_MS) });
    const found = await test.finding(one.id, 'identity_expires_soon');
    expect(found).toMatchObject({
      severity: 'attention',
      action: { method: 'POST', path: `/api/v1/devices/${one.id}/renew_identity`, body: null },
    });
    expect((await test.act(found)).status).toBe(201);
    const renewing = await test.finding(one.id, 'identity_expires_soon');
    expect([renewing.advice, renewing.action?.path]).toEqual([
      expect.stringMatching(/^A renewal is under way \(command \d+\): /),
      `/api/v1/devices/${one.id}/push`,
    ]);
    await one.device.with(await newIdentity()).enroll();
    expect(await codes()).not.toContain('identity_expires_soon');
  });

  it('with a shorter lifetime is not reported in the first five sixths of it', async () => {
    await identity().update({ created_at: ago(4 * DAY_MS), not_after: ago(-2 * DAY_MS) });
    expect(await codes()).toEqual([]);
    await identity().update({ created_at: ago(11 * DAY_MS) });
    expect(await codes()).toEqual(['identity_expires_soon']);
  });

  it('that has ended is accepted for IDENTITY_GRACE, and refused after it', async () => {
    await identity().update({ not_after: ago(DAY_MS) });
    expect(await test.diagnosis(one.id)).toMatchObject({
      health: 'attention',
      findings: [{ code: 'identity_expired' }],
    });
    await identity().update({ not_after: ago(91 * DAY_MS) });
    expect(await test.diagnosis(one.id)).toMatchObject({
      health: 'stuck',
      findings: [{ code: 'identity_refused', action: null }],
    });
  });
});

describe('a device in Setup Assistant', () => {
  it('is stuck after twice SETUP_TIMEOUT, until it answers DeviceConfigured', async () => {
    await one.device.tokenUpdate({ AwaitingConfiguration: true });
    expect(await codes()).toEqual([]);
    await test.set(one.id, { enrolled_at: ago(31 * 60_000) });
    await knex()('device_setups').where({ device_id: one.id }).delete();
    const found = await test.finding(one.id, 'setup_stuck');
    expect(found).toMatchObject({
      severity: 'stuck',
      action: { method: 'POST', path: `/api/v1/devices/${one.id}/commands` },
    });
    await knex()('commands').where({ device_id: one.id, is_pending: true }).delete();
    expect((await test.act(found)).status).toBe(201);
    expect(await test.answerAll(one)).toEqual(['DeviceConfigured']);
    await test.app.waitForReports();
    await test.until(one.id, []);
  });

  it('is stuck at once when its setup has failed, with the reason', async () => {
    await one.device.tokenUpdate({ AwaitingConfiguration: true });
    const { enrollment_number } = await knex()('devices').where({ id: one.id }).first();
    await knex()('device_setups')
      .insert({ device_id: one.id, enrollment_number, due_at: ago(0) })
      .onConflict(['device_id', 'enrollment_number'])
      .ignore();
    const failed = { state: 'failed', reason: 'given up after 5 attempts' };
    await knex()('device_setups').where({ device_id: one.id }).update(failed);
    const { message } = await test.finding(one.id, 'setup_stuck');
    expect(message).toMatch(
      /^The device waits in Setup Assistant since .* UTC: given up after 5 attempts; its last contact was on .* UTC\.$/,
    );
  });
});

describe('a DEP profile', () => {
  it('that differs at Apple is found unless it is under way, with the reason', async () => {
    const [{ id: account }] = await knex()('dep_accounts').insert({}).returning('id');
    const uuid = 'aaaaaaaa-0000-4000-8000-000000000001';
    const profile = {
      dep_account_id: account,
      profile_name: 'Desks',
      url: 'https://m.example.com',
    };
    const [{ id: profileId }] = await knex()('dep_profiles')
      .insert({ ...profile, uuid, status: 'defined' })
      .returning('id');
    const serial = { serial_number: 'C02DEP' };
    await knex()('dep_devices').insert({ ...serial, dep_account_id: account, device_id: one.id });
    await test.set(one.id, { ...serial, dep_profile_id: profileId });
    expect(await codes()).toEqual([]);
    const record = () => knex()('dep_devices').where({ device_id: one.id });
    await record().update({ assignment_due_at: null });
    expect(await test.finding(one.id, 'dep_profile_differs')).toMatchObject({
      message: `Apple has no profile for the device instead of Desks (${uuid}).`,
      action: { method: 'POST', path: `/api/v1/dep/accounts/${account}/sync`, body: null },
    });
    await record().update({
      last_error: 'Apple answered NOT_ACCESSIBLE.',
      last_error_at: ago(0),
      profile_uuid: 'other',
    });
    expect((await test.finding(one.id, 'dep_profile_differs')).message).toBe(
      `Apple has the profile other for the device instead of Desks (${uuid}): Apple answered NOT_ACCESSIBLE.`,
    );
    await record().update({ profile_uuid: uuid, last_error: null });
    expect(await codes()).toEqual([]);
  });
});

describe('an assigned profile', () => {
  const failedItem = (item: object) =>
    knex()('device_items').insert({
      ...{ device_id: one.id, profile_id: 7, enrollment_number: 1, state: 'failed' },
      ...{ reason_code: 'command_failed', reason: 'command 5 is Error: no; tried 3 times' },
      ...item,
    });

  it('that failed is found with its reason, and tried again by the action', async () => {
    await failedItem({ item_key: 'profile:wifi', identifier: 'wifi' });
    const found = await test.finding(one.id, 'items_failed');
    expect(found.message).toMatch(
      /^The assigned profile wifi \(item \d+\) has failed on .* UTC: command 5 is Error: no; tried 3 times\.$/,
    );
    expect((await test.act(found)).status).toBe(200);
    expect(await codes()).toEqual([]);
  });

  it('is tried again with all others of the device', async () => {
    const other = await test.enroll();
    await failedItem({ item_key: 'profile:wifi', identifier: 'wifi' });
    await failedItem({ item_key: 'profile:mail', identifier: 'mail' });
    await failedItem({ item_key: 'profile:mail', identifier: 'mail', device_id: other.id });
    const found = await test.finding(one.id, 'items_failed');
    expect(found.message).toContain(' and 1 more profile: ');
    expect((await test.act(found)).status).toBe(200);
    expect([await codes(), await test.codes(other.id)]).toEqual([[], ['items_failed']]);
  });
});
