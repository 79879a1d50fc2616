import { randomUUID } from 'node:crypto';
import { createCheckPushTopicsTask } from '../../src/jobs/tasks/check-push-topics.js';
import { PLACEHOLDER_TOPIC } from '../../src/pki/push-certificates/push-topic.js';
import { createRearmTask } from '../../src/push/rearm-task.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { capturingLogger, type LogLine } from '../http/log-lines.js';
import { runTask } from '../jobs/tasks/run-task.js';
import { expectEmpty } from '../mdm/conversation.js';
import { recordsOf } from '../mdm/records.js';

const TOPIC = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-00000000000a';
const OTHER = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-00000000000b';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.db.knex('devices').delete();
  await app.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).delete();
});

const { rowOf } = recordsOf(() => app);

async function addCertificate(push_topic: string): Promise<void> {
  const key = {
    key_type: 'RSA',
    key_size: 2048,
    sealed_pkcs8: Buffer.of(0),
    fingerprint_sha256: randomUUID(),
  };
  const [{ id: rsa_private_key_id }] = await app.db.knex('rsa_private_keys').insert(key, 'id');
  await app.db.knex('certificates').insert({
    purpose: 'mdm.pushcert',
    subject: 'CN=APSP',
    issuer: 'CN=Apple',
    serial: '01',
    not_before: new Date(0),
    not_after: new Date(Date.now() + 90 * 86_400_000),
    push_topic,
    fingerprint: Buffer.from(randomUUID().replaceAll('-', '')),
    der: Buffer.from('x'),
    rsa_private_key_id,
  });
}

async function enrolledWith(Topic: string): Promise<TestDevice> {
  const device = await createTestDevice(app);
  return await device.enroll({ Topic }, { Topic });
}

/** Returns what it logged. */
async function checkTopics(): Promise<LogLine[]> {
  const { logger, lines } = capturingLogger();
  await runTask(createCheckPushTopicsTask({ db: app.db, logger }));
  return lines;
}

describe('the push state of a device whose topic has no push certificate', () => {
  it('is ok while there is no push certificate at all', async () => {
    const device = await enrolledWith(PLACEHOLDER_TOPIC);
    await checkTopics();
    expect(await rowOf(device)).toMatchObject({ push_state: 'ok' });
  });

  it('becomes topic_mismatch with the first certificate, if that is of another topic', async () => {
    const device = await enrolledWith(PLACEHOLDER_TOPIC);
    await addCertificate(TOPIC);
    const { logger } = capturingLogger();
    const context = { jobId: 1, attempt: 1, signal: new AbortController().signal };
    await createRearmTask({ db: app.db, logger }).run({ topic: TOPIC }, context);
    const { id, is_enrolled, sealed_push, push_state } = await rowOf(device);
    expect({ is_enrolled, push_state }).toEqual({
      is_enrolled: true,
      push_state: 'topic_mismatch',
    });
    expect(sealed_push).toBeInstanceOf(Buffer);
    const { body } = await adminApi(app).get('/devices?filter[push_state]=topic_mismatch');
    expect(body.data.map((found: { id: number }) => found.id)).toEqual([id]);
  });

  it('is topic_mismatch after each TokenUpdate, and no push is requested', async () => {
    await addCertificate(TOPIC);
    const device = await enrolledWith(OTHER);
    const { id } = await rowOf(device);
    const pushes = app.db.knex('device_pushes').where({ device_id: id });
    for (let time = 0; time < 2; time += 1) {
      expect(await rowOf(device)).toMatchObject({
        push_state: 'topic_mismatch',
        is_enrolled: true,
      });
      expect(await pushes.clone()).toEqual([]);
      expectEmpty(await device.tokenUpdate({ Topic: OTHER }));
    }
    expect((await device.idle()).body.toString()).toContain('DeviceInformation');
  });

  it('is ok again once a certificate of its topic is added, and waiting commands are pushed', async () => {
    await addCertificate(TOPIC);
    const device = await enrolledWith(OTHER);
    const { id } = await rowOf(device);
    await addCertificate(OTHER);
    await checkTopics();
    expect(await rowOf(device)).toMatchObject({ push_state: 'ok' });
    expect(await app.db.knex('device_pushes').where({ device_id: id })).toHaveLength(1);
  });

  it('is corrected by the scheduled task when a certificate is removed, or an older version wrote ok', async () => {
    await addCertificate(TOPIC);
    await addCertificate(OTHER);
    const [device, others] = [await enrolledWith(OTHER), await enrolledWith(TOPIC)];
    await app.db.knex('certificates').where({ push_topic: OTHER }).delete();
    const lines = await checkTopics();
    expect(await rowOf(device)).toMatchObject({ push_state: 'topic_mismatch' });
    expect(await rowOf(others)).toMatchObject({ push_state: 'ok' });
    expect(lines).toMatchObject([
      { level: 40, topic: OTHER, count: 1, msg: expect.stringContaining('docs/enrollment.md') },
    ]);
    expect(await checkTopics()).toEqual([]);
  });

  it('is set and cleared for thousands of devices, each counted once', async () => {
    await addCertificate(TOPIC);
    await app.db.knex.raw(
      `insert into devices (udid, is_enrolled, topic, push_state)
       select gen_random_uuid()::text, true, ?, 'ok' from generate_series(1, 2500)`,
      [OTHER],
    );
    expect(await checkTopics()).toMatchObject([{ topic: OTHER, count: 2_500 }]);
    await addCertificate(OTHER);
    expect(await checkTopics()).toMatchObject([{ level: 30, count: 2_500 }]);
    expect(await app.db.knex('devices').distinct('push_state')).toEqual([{ push_state: 'ok' }]);
  });

  it('does not change when Apple has refused the token, or the certificate has only expired', async () => {
    await addCertificate(TOPIC);
    await addCertificate(OTHER);
    const [refused, expired] = [await enrolledWith(PLACEHOLDER_TOPIC), await enrolledWith(OTHER)];
    const { id } = await rowOf(refused);
    await app.db.knex('devices').where({ id }).update({ push_state: 'unregistered' });
    await app.db
      .knex('certificates')
      .where({ push_topic: OTHER })
      .update({ not_after: new Date(1) });
    await checkTopics();
    expect(await rowOf(refused)).toMatchObject({ push_state: 'unregistered' });
    expect(await rowOf(expired)).toMatchObject({ push_state: 'ok' });
  });
});

describe('/credentials', () => {
  interface Warning {
    code: string;
    detail: string;
  }

  async function warnings(): Promise<Warning[]> {
    const { body } = await adminApi(app).get('/credentials').expect(200);
    const found = body.data.attributes.warnings as Warning[];
    const settings = ['enrollment_open', 'https_without_certificate'];
    return found.filter(({ code }) => !settings.includes(code));
  }

  it('says that devices with the placeholder topic have to enroll again, and not that they were refused', async () => {
    await addCertificate(TOPIC);
    await enrolledWith(PLACEHOLDER_TOPIC);
    const [warning, ...others] = await warnings();
    expect([warning?.code, others]).toEqual(['topic_mismatch', []]);
    expect(warning?.detail).toMatch(/^1 enrolled device enrolled before there was a push certific/);
    expect(warning?.detail).toContain('Enroll them again (docs/enrollment.md');
    expect(warning?.detail).not.toContain('POST');
  });

  it('says that the certificate of another topic helps too', async () => {
    await addCertificate(TOPIC);
    await enrolledWith(OTHER);
    const [warning, ...others] = await warnings();
    expect([warning?.code, others]).toEqual(['topic_mismatch', []]);
    expect(warning?.detail).toContain(`the push topic ${OTHER}`);
    expect(warning?.detail).toContain('POST the certificate of that topic');
    expect(warning?.detail).toContain('filter[push_state]=topic_mismatch');
  });
});
