import { loadConfig } from '../../src/config/config.js';
import { claimHealthWork, lockHealth } from '../../src/db/diagnosis/kept-health.js';
import { HealthWorker } from '../../src/diagnosis/health-worker.js';
import { commandIn, deviceKeys, issueIdentity } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import {
  ago,
  DAY_MS,
  type DiagnosisTest,
  type Enrolled,
  startDiagnosis,
} from './diagnosis-helpers.js';

let test: DiagnosisTest;
let one: Enrolled;
let worker: HealthWorker;
beforeAll(async () => {
  test = await startDiagnosis();
});
afterAll(() => test.app.stop());
beforeEach(async () => {
  await knex()('devices').delete();
  worker = newWorker();
  one = await test.enroll();
  await test.answerAll(one);
  await worker.evaluateAll();
});

const knex = () => test.app.db.knex;

/** A process of its own, as far as health is concerned. */
function newWorker(env: Record<string, string> = {}): HealthWorker {
  const settings = loadConfig(env, __dirname);
  return new HealthWorker({ db: test.app.db, logger: capturingLogger().logger, settings });
}

const healthOf = async (id = one.id) => (await knex()('devices').where({ id }).first()).health;
const keptCodes = (id = one.id) =>
  knex()('device_findings').where({ device_id: id }).orderBy('code').pluck('code');
const countMarks = async () => (await knex()('health_marks')).length;

/** What is kept after the marks are evaluated, beside what the diagnosis says. */
async function kept(): Promise<{ health: string | null; codes: string[] }> {
  await worker.evaluateAll();
  const live = await test.diagnosis(one.id);
  const result = { health: await healthOf(), codes: await keptCodes() };
  const codes = live.findings.map(({ code }) => code);
  expect({ health: live.health, codes: [...codes].sort((a, b) => a.localeCompare(b)) }).toEqual(
    result,
  );
  return result;
}

const OK = { health: 'ok', codes: [] };
const stuck = (code: string) => ({ health: 'stuck', codes: [code] });
const attention = (code: string) => ({ health: 'attention', codes: [code] });

describe('the health of a device', () => {
  it('is ok from its enrollment on, and null before and after', async () => {
    expect(await kept()).toEqual(OK);
    await one.device.checkOut();
    expect(await kept()).toEqual({ health: null, codes: ['unenrolled'] });
    await one.device.authenticate();
    expect(await kept()).toEqual({ health: null, codes: [] });
    await one.device.tokenUpdate();
    expect(await healthOf()).toBe('ok');
    expect(await kept()).toEqual(OK);
  });

  it('is stuck when an enrollment never ends, also the first', async () => {
    await one.device.checkOut();
    await one.device.authenticate();
    const { device } = await test.enroll();
    const [{ id }] = await knex()('devices').where({ udid: device.udid });
    await test.set(id, { enrollment_state: 'authenticated', is_enrolled: false, health: null });
    await knex()('health_marks').delete();
    await knex()('device_health').where({ device_id: id }).delete();
    await test.set(id, { authenticated_at: ago(31 * 60_000) });
    await test.set(one.id, { authenticated_at: ago(31 * 60_000) });
    expect(await kept()).toEqual(stuck('enrollment_incomplete'));
    expect(await healthOf(id)).toBe('stuck');
    await one.device.tokenUpdate();
    expect(await kept()).toEqual(OK);
  });

  it('is evaluated ten seconds after a first enrollment without a fault, at once with one', async () => {
    const fresh = await test.enroll();
    expect(await countMarks()).toBe(0);
    const { due_at: due } = await knex()('device_health').where({ device_id: fresh.id }).first();
    expect(Math.round((due.getTime() - Date.now()) / 10_000)).toBe(1);
    await knex()('device_health')
      .where({ device_id: fresh.id })
      .update({ due_at: ago(0) });
    await worker.evaluateAll();
    const { due_at: next } = await knex()('device_health').where({ device_id: fresh.id }).first();
    expect(Math.round((next.getTime() - Date.now()) / DAY_MS)).toBe(7);
    const certificate = { purpose: 'mdm.pushcert', push_topic: 'com.apple.mgmt.Y', der: 'x' };
    const names = { subject: 's', issuer: 'i', serial: '1', fingerprint: Buffer.alloc(32, 5) };
    const life = { not_before: ago(DAY_MS), not_after: ago(-DAY_MS) };
    await knex()('certificates').insert({ ...certificate, ...names, ...life });
    const { id } = await test.enroll();
    expect(await knex()('health_marks').pluck('device_id')).toEqual([id]);
    await worker.evaluateAll();
    expect(await keptCodes(id)).toEqual(['topic_mismatch']);
    await knex()('certificates').where({ purpose: 'mdm.pushcert' }).delete();
  });

  it('needs attention once it was erased, until it enrolls again', async () => {
    await test.queue(one.id, 'EraseDevice');
    await test.answerAll(one);
    expect(await kept()).toEqual(attention('erased'));
    const keys = await deviceKeys();
    const again = one.device.with(issueIdentity(test.app.authority, keys));
    await again.enroll();
    await test.set(one.id, { enrollment_replaced_at: null });
    one = { id: one.id, device: again };
    await test.answerAll(one);
    expect(await kept()).toEqual(OK);
    await test.queue(one.id, 'EraseDevice');
    await test.answerAll(one);
    expect(await kept()).toEqual(attention('erased'));
    await knex()('commands').where({ request_type: 'EraseDevice' }).delete();
    expect(await kept()).toEqual(OK);
  });

  it('follows what APNs says of its token', async () => {
    await test.set(one.id, { push_state: 'unregistered' });
    expect(await kept()).toEqual(stuck('push_token_refused'));
    await test.set(one.id, { push_state: 'topic_mismatch' });
    expect(await kept()).toEqual(stuck('topic_mismatch'));
    await test.set(one.id, { push_state: 'ok', failed_push_count: 3 });
    expect(await kept()).toEqual(attention('push_failing'));
    await test.set(one.id, { failed_push_count: 0, sealed_push: null });
    expect(await kept()).toEqual(stuck('no_push_token'));
    await one.device.tokenUpdate();
    expect(await kept()).toEqual(OK);
  });

  it('follows its commands: failed, unanswered, postponed, cancelled', async () => {
    const fail = async (status: string) => {
      await test.queue(one.id, 'RestartDevice');
      await test.answerAll(one, status);
    };
    for (const status of ['Error', 'Error', 'CommandFormatError']) await fail(status);
    expect(await kept()).toEqual(attention('commands_failing'));
    await fail('Acknowledged');
    await contacted();
    expect(await kept()).toEqual(OK);
    const id = await test.queue(one.id, 'RestartDevice');
    for (let time = 0; time < 3; time += 1) await one.device.idle();
    expect(await kept()).toEqual(attention('command_unanswered'));
    const cancelled = { data: { type: 'commands', id, attributes: { status: 'Cancelled' } } };
    expect((await test.api.patch(`/commands/${id}`, cancelled)).status).toBe(200);
    expect(await kept()).toEqual(OK);
    const mute = await test.queue(one.id, 'RestartDevice');
    await knex()('commands').where({ id: mute }).update({ ttl: 3 });
    for (let time = 0; time < 4; time += 1) await one.device.idle();
    expect(await kept()).toEqual(attention('command_unanswered'));
    await fail('Acknowledged');
    await contacted();
    expect(await kept()).toEqual(OK);
    await test.queue(one.id, 'RestartDevice');
    await one.device.report(commandIn(await one.device.idle())?.uuid ?? '', 'NotNow');
    expect(await kept()).toEqual(OK);
    await knex()('commands')
      .where({ is_pending: true })
      .update({ not_now_since: ago(4 * DAY_MS) });
    expect(await timesCome()).toEqual(attention('not_now'));
    await knex()('commands').where({ is_pending: true }).delete();
    expect(await kept()).toEqual(OK);
  });

  it('follows its assigned profiles', async () => {
    const key = { device_id: one.id, item_key: 'profile:wifi' };
    const item = { ...key, profile_id: 7, identifier: 'wifi', enrollment_number: 1 };
    await knex()('device_items').insert({ ...item, state: 'failed' });
    expect(await kept()).toEqual(attention('items_failed'));
    await knex()('device_items').where(key).update({ state: 'pending' });
    expect(await kept()).toEqual(OK);
    await knex()('device_items').where(key).update({ state: 'failed' });
    expect(await kept()).toEqual(attention('items_failed'));
    await knex()('device_items').where(key).delete();
    expect(await kept()).toEqual(OK);
  });

  it('follows its identity, which time alone ends', async () => {
    const identity = () =>
      knex()('device_identities').where({ device_id: one.id, state: 'active' });
    await identity().update({ created_at: ago(300 * DAY_MS), not_after: ago(-DAY_MS) });
    expect(await kept()).toEqual(attention('identity_expires_soon'));
    await identity().update({ not_after: ago(91 * DAY_MS) });
    expect(await kept()).toEqual(stuck('identity_refused'));
    const other = one.device.with(issueIdentity(test.app.authority, await deviceKeys()));
    await test.set(one.id, { proven_serial: 'C02' });
    await other.checkOut();
    await other.enroll();
    await test.set(one.id, { enrollment_replaced_at: null });
    expect(await kept()).toEqual(OK);
  });

  it('follows Setup Assistant, held enrollments and DEP profiles', async () => {
    await one.device.tokenUpdate({ AwaitingConfiguration: true });
    await knex()('device_setups').where({ device_id: one.id }).update({ state: 'failed' });
    expect(await kept()).toEqual(stuck('setup_stuck'));
    await test.set(one.id, { awaiting_configuration: false });
    expect(await kept()).toEqual(OK);
    const times = { held_at: ago(0), expires_at: ago(-DAY_MS), last_attempt_at: ago(0) };
    const request = { device_id: one.id, method: 'profile', attempts: 1, ...times };
    await knex()('enrollment_requests').insert(request);
    expect(await kept()).toEqual(attention('enrollment_held'));
    await knex()('enrollment_requests').update({ approved_at: ago(0) });
    expect(await kept()).toEqual(OK);
    const [{ id: account }] = await knex()('dep_accounts').insert({}).returning('id');
    const uuid = 'aaaaaaaa-0000-4000-8000-00000000000a';
    const profile = {
      dep_account_id: account,
      profile_name: 'Desks',
      url: 'https://m.example.com',
    };
    const [{ id: profileId }] = await knex()('dep_profiles')
      .insert({ ...profile, uuid, status: 'defined' })
      .returning('id');
    const serial = { serial_number: 'C02KEPT', device_id: one.id };
    await knex()('dep_devices').insert({ ...serial, dep_account_id: account });
    await test.set(one.id, { dep_profile_id: profileId, serial_number: 'C02KEPT' });
    await knex()('dep_devices').update({ assignment_due_at: null });
    expect(await kept()).toEqual(attention('dep_profile_differs'));
    await knex()('dep_devices').update({ profile_uuid: uuid });
    expect(await kept()).toEqual(OK);
  });

  it('changes by time alone, and back with a contact', async () => {
    await test.seenLast(one, ago(8 * DAY_MS));
    expect([await countMarks(), await healthOf()]).toEqual([0, 'ok']);
    expect(await timesCome()).toEqual(attention('silent'));
    await one.device.idle();
    await contacted();
    expect(await kept()).toEqual(OK);
  });

  it('has a stale inventory until the device answers', async () => {
    await test.set(one.id, { enrolled_at: ago(30 * DAY_MS) });
    await knex()('commands')
      .where({ device_id: one.id })
      .update({ acknowledged_at: ago(20 * DAY_MS) });
    expect(await timesCome()).toEqual(attention('inventory_stale'));
    await test.api.post(`/devices/inventory/${one.id}`);
    await test.answerAll(one);
    await contacted();
    expect(await kept()).toEqual(OK);
  });
});

/** The time of contact is written within a second. */
async function contacted(): Promise<void> {
  const recently = ago(DAY_MS);
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if ((await countMarks()) > 0) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { last_seen: lastSeen } = await knex()('devices').where({ id: one.id }).first();
  expect([await countMarks(), lastSeen > recently]).toEqual([1, true]);
}

/** The timers of all devices are due. */
async function timesCome() {
  await knex()('device_health').update({ due_at: ago(0) });
  return await kept();
}

describe('the task that updates the health', () => {
  it('stores a timer for the next change by time, and no mark for a contact of a healthy device', async () => {
    const seen = ago(DAY_MS);
    await test.seenLast(one, seen);
    await test.set(one.id, { topic: 'x' });
    await timesCome();
    const [{ due_at: due }] = await knex()('device_health');
    expect(due).toEqual(new Date(seen.getTime() + 7 * DAY_MS));
    await one.device.idle();
    await test.app.container.stop();
    expect(await countMarks()).toBe(0);
  });

  it('evaluates all devices when the rules or their limits change', async () => {
    await test.seenLast(one, ago(2 * DAY_MS));
    await newWorker().evaluateAll();
    expect(await healthOf()).toBe('ok');
    await newWorker({ SILENT_AFTER: '1d' }).evaluateAll();
    expect(await healthOf()).toBe('attention');
    await newWorker().evaluateAll();
    expect(await healthOf()).toBe('ok');
  });

  it('stores since when a finding without a date of its own exists', async () => {
    await test.set(one.id, { push_state: 'topic_mismatch' });
    await kept();
    const [{ since }] = await knex()('device_findings');
    await new Promise((resolve) => setTimeout(resolve, 5));
    await test.set(one.id, { topic: 'another' });
    await kept();
    expect(await knex()('device_findings').pluck('since')).toEqual([since]);
    const shown = (await test.finding(one.id, 'topic_mismatch')).since;
    expect(new Date(String(shown))).toEqual(since);
  });

  it('runs in one process at a time, and in the next when that one dies', async () => {
    await test.set(one.id, { push_state: 'bad_token' });
    await knex().transaction(async (trx) => {
      expect(await lockHealth(trx)).toBe(true);
      await worker.evaluateAll();
      expect([await healthOf(), await countMarks()]).toEqual(['ok', 1]);
    });
    const dying = knex().transaction(async (trx) => {
      await lockHealth(trx);
      expect(await claimHealthWork(trx, { limit: 10, setup: 60_000 })).toEqual([one.id]);
      throw new Error('the process dies');
    });
    await expect(dying).rejects.toThrow('the process dies');
    expect(await kept()).toEqual(stuck('push_token_refused'));
  });

  it('loses no mark while facts change beside two workers', async () => {
    const devices = await Promise.all(Array.from({ length: 20 }, () => test.enroll()));
    let isChanging = true;
    const work = async (each: HealthWorker) => {
      while (isChanging) await each.evaluateAll();
    };
    const change = async () => {
      for (let round = 0; round < 10; round += 1) {
        for (const [index, { id }] of devices.entries()) {
          await test.set(id, { push_state: (index + round) % 3 === 0 ? 'bad_token' : 'ok' });
        }
      }
      isChanging = false;
    };
    await Promise.all([work(worker), work(newWorker()), change()]);
    await worker.evaluateAll();
    const health = await Promise.all(devices.map(({ id }) => healthOf(id)));
    expect(health).toEqual(devices.map((_, index) => ((index + 9) % 3 === 0 ? 'stuck' : 'ok')));
    expect(await countMarks()).toBe(0);
  });

  it('removes the state of a deleted device', async () => {
    await test.set(one.id, { push_state: 'bad_token' });
    expect((await test.api.delete(`/devices/${one.id}`)).status).toBe(204);
    await worker.evaluateAll();
    const rows = ['device_findings', 'device_health', 'health_marks'].map((table) => knex()(table));
    expect(await Promise.all(rows)).toEqual([[], [], []]);
  });
});

describe('the list of devices and the summary', () => {
  it('filter, sort and count by health', async () => {
    const other = await test.enroll();
    const gone = await test.enroll();
    await test.seenLast(other, ago(8 * DAY_MS));
    await test.set(other.id, { push_state: 'bad_token' });
    await gone.device.checkOut();
    await worker.evaluateAll();
    const list = async (query: string) => {
      const { body } = await test.api.get(`/devices?${query}&fields[devices]=health`);
      return body.data.map(({ id, attributes }: { id: number; attributes: object }) => [
        id,
        attributes,
      ]);
    };
    expect(await list('filter[health]=stuck')).toEqual([[other.id, { health: 'stuck' }]]);
    expect(await list('sort=-health')).toEqual([
      [other.id, { health: 'stuck' }],
      [one.id, { health: 'ok' }],
      [gone.id, { health: null }],
    ]);
    const { status, body } = await test.api.get('/health_summary');
    expect([status, body.data]).toEqual([
      200,
      {
        type: 'health_summaries',
        id: 1,
        attributes: {
          health: { ok: 1, attention: 0, stuck: 1 },
          findings: [
            { code: 'push_token_refused', severity: 'stuck', count: 1 },
            { code: 'silent', severity: 'attention', count: 1 },
            { code: 'unenrolled', severity: 'info', count: 1 },
          ],
        },
        links: { self: '/api/v1/health_summary' },
      },
    ]);
    expect((await test.api.get('/health_summary?sort=code')).status).toBe(400);
  });

  it('ignore the health in a document that was read and is sent back', async () => {
    const data = { type: 'devices', id: one.id, attributes: { health: 'stuck' } };
    const { status, body } = await test.api.patch(`/devices/${one.id}`, { data });
    expect([status, body.data.attributes.health]).toEqual([200, 'ok']);
  });
});
