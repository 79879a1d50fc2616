import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createToken } from '../../src/auth/api-tokens.js';
import { loadConfig } from '../../src/config/config.js';
import { RULES } from '../../src/db/diagnosis/findings.js';
import { FINDING_CODES } from '../../src/diagnosis/finding-texts.js';
import { HealthWorker } from '../../src/diagnosis/health-worker.js';
import { adminApi } from '../helpers/app.js';
import { commandIn } from '../helpers/device.js';
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
beforeAll(async () => {
  test = await startDiagnosis();
});
afterAll(() => test.app.stop());
beforeEach(async () => {
  one = await test.enroll();
  await test.answerAll(one);
});

const knex = () => test.app.db.knex;
const codes = () => test.codes(one.id);

const CONTEXT = {
  requestId: 'findings',
  actor: { name: 'admin', role: 'admin' as const },
  sourceAddress: null,
};

describe('the diagnosis of a device', () => {
  it('is refused without a token, and for an unknown id and parameters', async () => {
    const path = `/devices/${one.id}/diagnosis`;
    expect((await adminApi(test.app, 'none').get(path)).status).toBe(401);
    expect((await test.api.get('/devices/999999/diagnosis')).status).toBe(404);
    expect((await test.api.get(`${path}?sort=code`)).status).toBe(400);
    expect((await test.api.post(path)).status).toBe(405);
  });

  it('is open to viewers, and reports a healthy device as ok', async () => {
    const { token } = await createToken(test.app.db, { name: 'v', role: 'viewer' }, CONTEXT);
    const { status, body } = await adminApi(test.app, token).get(`/devices/${one.id}/diagnosis`);
    const self = `/api/v1/devices/${one.id}/diagnosis`;
    expect([status, body]).toEqual([
      200,
      {
        data: {
          type: 'device_diagnoses',
          id: one.id,
          attributes: { health: 'ok', diagnosed_at: expect.any(String), findings: [] },
          links: { self },
        },
        links: { self },
        jsonapi: { version: '1.0' },
      },
    ]);
  });

  it('has a text for each rule, and a rule for each text', () => {
    expect(new Set(RULES.map(({ code }) => code))).toEqual(new Set(FINDING_CODES));
  });

  it('is described in the documentation, rule by rule', () => {
    const page = readFileSync(join(__dirname, '../../docs/diagnosis.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, ...row]) => row);
    expect(rows).toEqual(RULES.map(({ code, severity }) => [code, severity]));
  });

  it('shows the worst finding first, and that is the health', async () => {
    await test.seenLast(one, ago(8 * DAY_MS));
    await test.set(one.id, { push_state: 'bad_token' });
    const { health, findings } = await test.diagnosis(one.id);
    expect([health, findings.map(({ code, severity }) => [code, severity])]).toEqual([
      'stuck',
      [
        ['push_token_refused', 'stuck'],
        ['silent', 'attention'],
      ],
    ]);
  });
});

describe('a push that can not reach the device', () => {
  it('is found when there is no token, until the device sends one', async () => {
    await test.set(one.id, { sealed_push: null });
    expect(await codes()).toEqual(['no_push_token']);
    await one.device.tokenUpdate();
    expect(await codes()).toEqual([]);
  });

  it('is found when the topic has no certificate, and names both topics', async () => {
    await test.set(one.id, { push_state: 'topic_mismatch', topic: 'com.apple.mgmt.X' });
    const { severity, message } = await test.finding(one.id, 'topic_mismatch');
    expect([severity, message]).toEqual([
      'stuck',
      'The device accepts only pushes of the topic com.apple.mgmt.X, for which no push certificate is stored: none is stored.',
    ]);
  });

  it('is found when APNs refuses the token, until the device sends another', async () => {
    await test.set(one.id, {
      push_state: 'unregistered',
      last_push_result: 'Unregistered',
      last_push_at: new Date('2026-11-01T10:00:00Z'),
    });
    expect(await test.finding(one.id, 'push_token_refused')).toMatchObject({
      since: '2026-11-01T10:00:00+00:00',
      message:
        'APNs says that the push token of the device is not in use any more (Unregistered); the last push, on 2026-11-01 10:00 UTC, was answered Unregistered, and the device is not pushed any more.',
      action: { method: 'POST', path: `/api/v1/devices/${one.id}/push`, body: null },
    });
    await one.device.tokenUpdate();
    expect(await codes()).toEqual([]);
  });

  it('began with the first push that APNs refused, however often it is pushed after that', async () => {
    const refusedAt = (at: string) =>
      test.set(one.id, {
        push_state: 'unregistered',
        last_push_result: 'Unregistered',
        last_push_at: new Date(at),
      });
    const settings = loadConfig({}, __dirname);
    const { logger } = capturingLogger();
    const worker = new HealthWorker({ db: test.app.db, logger, settings });
    const since = async () => (await test.finding(one.id, 'push_token_refused')).since;
    await refusedAt('2026-11-01T10:00:00Z');
    await worker.evaluateAll();
    await refusedAt('2026-11-02T10:00:00Z');
    await worker.evaluateAll();
    expect(await test.finding(one.id, 'push_token_refused')).toMatchObject({
      since: '2026-11-01T10:00:00+00:00',
      message: expect.stringContaining('on 2026-11-02 10:00 UTC, was answered Unregistered'),
    });
    await one.device.tokenUpdate();
    await worker.evaluateAll();
    await refusedAt('2026-11-03T10:00:00Z');
    expect(await since()).toBe('2026-11-03T10:00:00+00:00');
  });

  it('is found after three refusals, not after two', async () => {
    await test.set(one.id, { failed_push_count: 2, last_push_result: 'TopicDisallowed' });
    expect(await codes()).toEqual([]);
    await test.set(one.id, { failed_push_count: 3 });
    expect(await codes()).toEqual(['push_failing']);
  });
});

describe('a device that does not answer', () => {
  it('is silent after SILENT_AFTER, until it contacts the server', async () => {
    await test.seenLast(one, ago(7 * DAY_MS - 60_000));
    expect(await codes()).toEqual([]);
    await test.set(one.id, { last_seen: new Date('2026-10-01T08:30:00Z') });
    await test.queue(one.id, 'DeviceInformation', { Queries: ['UDID'] });
    expect(await test.finding(one.id, 'silent')).toMatchObject({
      severity: 'attention',
      since: '2026-10-01T08:30:00+00:00',
      message:
        'The device has not contacted the server since 2026-10-01 08:30 UTC; it was never pushed, and 1 command waits.',
    });
    await test.answerAll(one);
    await test.until(one.id, []);
  });

  it('is busy after NotNow for BUSY_AFTER, counted from the first, until it carries the command out', async () => {
    const id = await test.queue(one.id, 'RestartDevice');
    const offer = commandIn(await one.device.idle());
    await one.device.report(offer?.uuid ?? '', 'NotNow');
    const { not_now_since: first } = await knex()('commands').where({ id }).first();
    expect(first).toBeInstanceOf(Date);
    expect(await codes()).toEqual([]);
    const since = new Date('2026-11-01T00:00:00Z');
    await knex()('commands').where({ id }).update({ not_now_since: since });
    const again = commandIn(await one.device.idle());
    await one.device.report(again?.uuid ?? '', 'NotNow');
    expect(await test.finding(one.id, 'not_now')).toMatchObject({
      since: '2026-11-01T00:00:00+00:00',
      message: `The device answers NotNow to RestartDevice (command ${id}) since 2026-11-01 00:00 UTC.`,
    });
    expect(await test.answerAll(one)).toEqual(['RestartDevice']);
    expect(await codes()).toEqual([]);
  });

  it('fetches a command three times without an answer, until the command is cancelled', async () => {
    const id = await test.queue(one.id, 'RestartDevice');
    for (let time = 0; time < 2; time += 1) await one.device.idle();
    expect(await codes()).toEqual([]);
    await one.device.idle();
    const found = await test.finding(one.id, 'command_unanswered');
    expect(found.message).toMatch(
      new RegExp(
        `^The device has fetched RestartDevice \\(command ${id}\\) 3 times, last on .* UTC, and never answered it\\.$`,
      ),
    );
    expect((await test.act(found)).status).toBe(200);
    expect(await codes()).toEqual([]);
  });

  it('has fetched a command until it expired, until it answers another one', async () => {
    const id = await test.queue(one.id, 'RestartDevice');
    await knex()('commands').where({ id }).update({ ttl: 3 });
    for (let time = 0; time < 4; time += 1) await one.device.idle();
    expect((await test.api.get(`/commands/${id}`)).body.data.attributes.status).toBe('Expired');
    expect(await test.finding(one.id, 'command_unanswered')).toMatchObject({
      message: expect.stringMatching(
        new RegExp(
          `^The device has fetched RestartDevice \\(command ${id}\\) 3 times, last on .* UTC, until it expired, ` +
            'and has answered no command since\\.$',
        ),
      ),
      action: null,
    });
    await test.queue(one.id, 'SecurityInfo');
    expect(await test.answerAll(one)).toEqual(['SecurityInfo']);
    expect(await codes()).toEqual([]);
  });

  it('has a stale inventory, until it answers the next', async () => {
    await test.set(one.id, { enrolled_at: ago(30 * DAY_MS) });
    await knex()('commands')
      .where({ device_id: one.id })
      .update({ acknowledged_at: ago(15 * DAY_MS) });
    const found = await test.finding(one.id, 'inventory_stale');
    expect((await test.act(found)).status).toBe(201);
    expect(await codes()).toEqual(['inventory_stale']);
    await test.answerAll(one);
    expect(await codes()).toEqual([]);
  });
});

describe('a command that fails', () => {
  const fail = async (status = 'Error') => {
    await test.queue(one.id, 'RestartDevice');
    await test.answerAll(one, status);
  };

  it('is found the third time in a row, until one succeeds', async () => {
    await fail();
    await fail('CommandFormatError');
    expect(await codes()).toEqual([]);
    await fail();
    const { message, action } = await test.finding(one.id, 'commands_failing');
    expect([message, action]).toEqual([
      expect.stringMatching(
        /^RestartDevice has failed 3 times in a row since .* UTC, last on .* UTC \(command \d+\): The command is unknown\.$/,
      ),
      null,
    ]);
    await fail('Acknowledged');
    expect(await codes()).toEqual([]);
  });

  it('counts anew after a success, and not for older enrollments and months', async () => {
    await fail();
    await fail();
    await fail('Acknowledged');
    await fail();
    await fail();
    expect(await codes()).toEqual([]);
    await fail();
    expect(await codes()).toEqual(['commands_failing']);
    await knex()('commands')
      .where({ device_id: one.id })
      .whereNotNull('failed_at')
      .update({ failed_at: ago(31 * DAY_MS) });
    await test.set(one.id, { enrolled_at: ago(60 * DAY_MS), authenticated_at: ago(60 * DAY_MS) });
    expect(await codes()).toEqual([]);
  });
});
