import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createToken } from '../../src/auth/api-tokens.js';
import { STEP_CODES } from '../../src/diagnosis/timeline-steps.js';
import { WAITING_CODES } from '../../src/diagnosis/timeline-waiting.js';
import { batchWorkerOf } from '../batches/batch-fixture.js';
import { adminApi, commandDocument } from '../helpers/app.js';
import { commandIn } from '../helpers/device.js';
import { recordsOf } from '../mdm/records.js';
import {
  ago,
  DAY_MS,
  type DiagnosisTest,
  type Enrolled,
  ERROR,
  startDiagnosis,
} from './diagnosis-helpers.js';

interface Step {
  time: string | null;
  code: string;
  message: string;
  advice: string | null;
  data: Record<string, unknown>;
}

let test: DiagnosisTest;
let one: Enrolled;
let id: number;
beforeAll(async () => {
  test = await startDiagnosis();
});
afterAll(() => test.app.stop());
beforeEach(async () => {
  one = await test.enroll();
  await test.answerAll(one);
  id = await test.queue(one.id, 'RestartDevice');
});

const knex = () => test.app.db.knex;
const { newIdentity } = recordsOf(() => test.app);
const set = (row: object) => knex()('commands').where({ id }).update(row);
const PUSHED = { last_push_result: 'delivered', last_push_at: new Date('2100-01-01T10:00:00Z') };
const TIME = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC';

async function timeline(of = id): Promise<{ status: string; steps: Step[] }> {
  const { status, body } = await test.api.get(`/commands/${of}/timeline`);
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data.attributes;
}
const codes = async (of = id) => (await timeline(of)).steps.map(({ code }) => code);
async function last(of = id): Promise<Step> {
  const { steps } = await timeline(of);
  const step = steps.at(-1);
  if (step === undefined) throw new Error('no step');
  return step;
}
/** With the times of now written as TIME. */
const plain = (message = '') => message.replace(new RegExp(TIME, 'g'), 'TIME');
const texts = async (of = id) => (await timeline(of)).steps.map(({ message }) => plain(message));
async function fetchCommand(): Promise<string> {
  return commandIn(await one.device.idle())?.uuid ?? '';
}

describe('the timeline of a command', () => {
  it('is refused without a token, and for an unknown id, parameters and other methods', async () => {
    const path = `/commands/${id}/timeline`;
    expect((await adminApi(test.app, 'none').get(path)).status).toBe(401);
    expect((await test.api.get('/commands/999999/timeline')).status).toBe(404);
    expect((await test.api.get('/commands/x/timeline')).status).toBe(404);
    expect((await test.api.get(`${path}?sort=time`)).status).toBe(400);
    expect((await test.api.post(path)).status).toBe(405);
  });

  it('is open to viewers, as a document of its own', async () => {
    await set({ after: new Date('2100-01-01T10:00:00Z') });
    const context = {
      requestId: 'timeline',
      actor: { name: 'admin', role: 'admin' as const },
      sourceAddress: null,
    };
    const { token } = await createToken(test.app.db, { name: 'v', role: 'viewer' }, context);
    const { status, body } = await adminApi(test.app, token).get(`/commands/${id}/timeline`);
    const self = `/api/v1/commands/${id}/timeline`;
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/);
    expect([status, body]).toEqual([
      200,
      {
        data: {
          type: 'command_timelines',
          id,
          attributes: {
            request_type: 'RestartDevice',
            status: 'Queued',
            read_at: time,
            steps: [
              {
                time,
                code: 'queued',
                message: 'Queued by ADMIN_TOKEN (admin).',
                advice: null,
                data: {
                  actor: 'ADMIN_TOKEN',
                  batch_id: null,
                  item_id: null,
                  assignment_id: null,
                  retry_of_id: null,
                  is_forced: false,
                },
              },
              {
                time,
                code: 'held',
                message: 'Held until 2100-01-01 10:00 UTC: `after`.',
                advice: null,
                data: { until: '2100-01-01T10:00:00.000Z', cause: 'after' },
              },
              {
                time,
                code: 'waiting_until',
                message:
                  'Waiting: not before 2100-01-01 10:00 UTC, the time `after` of the command.',
                advice: null,
                data: { since: expect.any(String), until: '2100-01-01T10:00:00.000Z' },
              },
            ],
          },
          links: { self },
        },
        links: { self },
        jsonapi: { version: '1.0' },
      },
    ]);
  });

  it('is described in the documentation, code by code', () => {
    const page = readFileSync(join(__dirname, '../../docs/commands.md'), 'utf8');
    const section = page.split('## Find out why a command waits')[1]?.split('\n## ')[0] ?? '';
    const listed = [...section.matchAll(/^\| (`[^|]*) \|/gm)]
      .flatMap(([, cell = '']) => cell.split(', '))
      .map((code) => code.replaceAll('`', ''));
    expect(listed.filter((code) => code !== 'code')).toEqual([...STEP_CODES, ...WAITING_CODES]);
  });
});

describe('the timeline of a command that was sent', () => {
  it('shows that the device postponed it, fetched it again and executed it', async () => {
    await one.device.report(await fetchCommand(), 'NotNow');
    await one.device.report(await fetchCommand(), 'NotNow');
    expect((await codes()).slice(0, -1)).toEqual(['queued', 'not_now', 'sent', 'not_now_again']);
    await one.device.report(await fetchCommand(), 'Acknowledged');
    expect(await codes()).toEqual(['queued', 'not_now', 'sent', 'acknowledged']);
    expect(await texts()).toEqual([
      'Queued by ADMIN_TOKEN (admin).',
      'The device said NotNow at TIME.',
      'The device fetched the command at TIME, the last of 3 times.',
      'The device carried the command out.',
    ]);
  });

  it('shows the error of the device, without the query of a URL', async () => {
    const USEnglishDescription = 'https://user:secret@host/file?token=1 is refused';
    const fields = { ErrorChain: [{ ...ERROR, USEnglishDescription }] };
    await one.device.report(await fetchCommand(), 'Error', fields);
    const { code, message } = await last();
    expect(code).toBe('error');
    expect(message).toContain('The device could not carry the command out: https://********@host');
    expect(JSON.stringify(await timeline())).not.toMatch(/secret|token=1/);
    await set({ status: 'CommandFormatError', error_chain: null });
    expect(await last()).toMatchObject({
      code: 'command_format_error',
      message: 'The device did not understand the command.',
    });
  });

  it('shows that APNs accepted or refused the last push since it was queued', async () => {
    await test.set(one.id, { ...PUSHED, last_apns_id: 'APNS-1' });
    expect((await timeline()).steps.find(({ code }) => code === 'push_accepted')).toEqual({
      time: '2100-01-01T10:00:00+00:00',
      code: 'push_accepted',
      message: 'Push accepted by APNs at 2100-01-01 10:00 UTC, the last one of the device.',
      advice: null,
      data: { apns_id: 'APNS-1' },
    });
    await test.set(one.id, { last_push_result: 'TooManyRequests' });
    expect((await timeline()).steps.find(({ code }) => code === 'push_refused')).toMatchObject({
      message:
        'Push refused by APNs at 2100-01-01 10:00 UTC, the last one of the device: TooManyRequests.',
      data: { apns_id: 'APNS-1', reason: 'TooManyRequests' },
    });
    await test.set(one.id, { last_push_at: ago(DAY_MS) });
    expect(await codes()).toEqual(['queued', 'waiting_for_push']);
  });

  it('shows who cancelled it, and that the device answered all the same', async () => {
    const uuid = await fetchCommand();
    const attributes = { status: 'Cancelled' };
    const cancelled = { data: { type: 'commands', id, attributes } };
    expect((await test.api.patch(`/commands/${id}`, cancelled)).status).toBe(200);
    expect(await last()).toEqual({
      time: expect.any(String),
      code: 'cancelled',
      message: 'Cancelled by ADMIN_TOKEN (admin): cancelled by an administrator.',
      advice: null,
      data: { reason: 'cancelled by an administrator', actor: 'ADMIN_TOKEN' },
    });
    await one.device.report(uuid, 'Acknowledged');
    expect(await codes()).toEqual(['queued', 'sent', 'ended_early', 'acknowledged']);
  });

  it('shows that it expired, without an answer after its last offer', async () => {
    await set({ ttl: 1 });
    await fetchCommand();
    await one.device.idle();
    expect((await texts()).slice(1)).toEqual([
      'The device fetched the command at TIME.',
      'Expired: no answer after its last offer.',
    ]);
    expect(await codes()).toEqual(['queued', 'sent', 'expired']);
  });

  it('has no time for an end that a former version did not record', async () => {
    await set({ status: 'Expired', reason: 'not answered before expires_at' });
    expect(await last()).toMatchObject({ code: 'expired', time: null });
  });

  it('shows that the device enrolled again, or left', async () => {
    const again = await one.device.with(await newIdentity()).enroll();
    expect(await last()).toMatchObject({
      code: 'replaced_by_enrollment',
      time: expect.any(String),
      message: 'Cancelled: re-enrolled.',
    });
    id = await test.queue(one.id, 'RestartDevice');
    await again.checkOut();
    expect(await last()).toMatchObject({ code: 'unenrolled', message: 'Cancelled: unenrolled.' });
  });

  it('shows its batch, the spread, and the command of the retry', async () => {
    const worker = batchWorkerOf(test.app);
    const devices = { data: [{ type: 'devices', id: one.id }] };
    const { body } = await test.api.post('/command_batches', {
      data: {
        type: 'command_batches',
        attributes: { request_type: 'DeviceInformation', parameters: { Queries: ['UDID'] } },
        relationships: { devices },
      },
    });
    const batch: number = body.data.id;
    const find = () =>
      knex()('commands').where({ device_id: one.id }).orderBy('id', 'desc').first();
    await worker.run();
    const first: number = (await find()).id;
    expect((await timeline(first)).steps[0]).toMatchObject({
      message: `Queued by batch ${batch} of ADMIN_TOKEN.`,
      data: { batch_id: batch, actor: 'ADMIN_TOKEN' },
    });
    expect(await last(first)).toMatchObject({
      code: 'waiting_behind',
      data: { commands: 1, command_id: id },
    });
    await test.answerAll(one, 'Error');
    await worker.run();
    expect((await test.api.post(`/command_batches/${batch}/retry_failed`)).status).toBe(202);
    await worker.run();
    const again: number = (await find()).id;
    expect(await codes(first)).toEqual(['queued', 'sent', 'error', 'retried']);
    expect((await last(first)).message).toBe(`Retried as command ${again}.`);
    expect((await texts(again))[0]).toBe(
      `Queued by batch ${batch + 1} of ADMIN_TOKEN, as a retry of command ${first}.`,
    );
  });
});

describe('the reason why a command waits', () => {
  it('is first that the device has left or has no push token', async () => {
    await test.set(one.id, { sealed_push: null });
    expect(await last()).toMatchObject({
      code: 'waiting_no_push_token',
      message: expect.stringMatching(
        /^Waiting: the device has sent no push token; no contact since/,
      ),
      advice: expect.stringContaining('Enroll the device again'),
    });
    await test.set(one.id, {
      is_enrolled: false,
      enrollment_state: 'unenrolled',
      unenrolled_at: new Date('2026-11-01T10:00:00Z'),
    });
    expect(await last()).toMatchObject({
      code: 'waiting_not_enrolled',
      message: 'Waiting: the device is not managed any more since 2026-11-01 10:00 UTC.',
      advice: 'Enroll the device, or cancel the command.',
    });
  });

  it('names a token that APNs refuses, or a topic without a certificate', async () => {
    await test.seenLast(one, new Date('2026-11-01T10:00:00Z'));
    await set({ status: 'Queued', sent_at: null });
    await test.set(one.id, {
      push_state: 'bad_token',
      last_push_result: 'BadDeviceToken',
      last_push_at: new Date('2026-11-02T10:00:00Z'),
    });
    expect(await last()).toMatchObject({
      code: 'waiting_push_refused',
      message:
        'Waiting: no contact since 2026-11-01 10:00 UTC; the last push was refused: BadDeviceToken.',
      advice: expect.stringContaining(
        'the device must contact the server by itself, which renews its token, or enroll again.',
      ),
      data: { since: '2026-11-02T10:00:00.000Z', reason: 'BadDeviceToken' },
    });
    await test.set(one.id, { push_state: 'topic_mismatch', topic: 'com.apple.mgmt.X' });
    expect(await last()).toMatchObject({
      code: 'waiting_topic_mismatch',
      advice: expect.stringContaining('com.apple.mgmt.X'),
    });
    await test.set(one.id, { push_state: 'ok', ...PUSHED });
    expect(await last()).toMatchObject({
      code: 'waiting_silent',
      message: expect.stringMatching(
        /^Waiting: no contact since 2026-11-01 10:00 UTC; APNs accepted the last push at 2100-01-01 10:00 UTC/,
      ),
    });
  });

  it('names a push that was not sent, then a device that has not polled', async () => {
    expect((await last()).code).toBe('waiting_for_push');
    await test.set(one.id, PUSHED);
    expect(await last()).toMatchObject({
      code: 'waiting_for_contact',
      advice: expect.stringContaining(`POST /api/v1/devices/${one.id}/push`),
    });
  });

  it('names a device that fetched it and has not answered, or answered NotNow', async () => {
    const uuid = await fetchCommand();
    expect(await last()).toMatchObject({
      code: 'waiting_unanswered',
      advice: 'Wait: the device gets the command again at a later contact.',
      data: { attempts: 1, offers_left: 4 },
    });
    await set({ attempts: 3 });
    expect((await last()).advice).toContain(`Cancel command ${id}`);
    await one.device.report(uuid, 'NotNow');
    const { code, message, advice } = await last();
    expect([code, plain(message)]).toEqual([
      'waiting_not_now',
      expect.stringMatching(
        /^Waiting: the device said NotNow at TIME, and gets the command again at a later contact/,
      ),
    ]);
    expect(advice).toContain('Unlock the device');
  });

  it('is the commands before it, which are those of its channel and due', async () => {
    const held = await test.api.post(
      '/commands',
      commandDocument(one.id, 'DeviceInformation', {
        parameters: { Queries: ['UDID'] },
        priority: 9,
        after: '2100-01-01T10:00:00Z',
      }),
    );
    expect([held.status, (await last()).code]).toEqual([201, 'waiting_for_push']);
    const urgent = await test.queue(one.id, 'ProfileList');
    await knex()('commands').where({ id: urgent }).update({ priority: 5 });
    expect(await last()).toMatchObject({
      code: 'waiting_behind',
      message: expect.stringMatching(
        new RegExp(
          `^Waiting: one command goes to the device first, now ProfileList \\(command ${urgent}\\); `,
        ),
      ),
      advice: expect.stringContaining(`GET /api/v1/commands/${urgent}/timeline`),
      data: { commands: 1, command_id: urgent },
    });
    const [user] = await knex()('device_users')
      .insert({ device_id: one.id, user_key: 'U', is_enrolled: false })
      .returning('id');
    await set({ device_user_id: user.id });
    expect(await last()).toMatchObject({
      code: 'waiting_not_enrolled',
      message: `Waiting: user ${user.id} of the device is not enrolled.`,
      advice: expect.stringContaining('The user must log in'),
    });
    await knex()('device_users')
      .where({ id: user.id })
      .update({
        is_enrolled: true,
        sealed_push: Buffer.from('x'),
        push_state: 'ok',
        last_seen: new Date(),
      });
    expect((await last()).code).toBe('waiting_for_push');
  });
});
