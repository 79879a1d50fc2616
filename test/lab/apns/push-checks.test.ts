import { createLabAuthority, issuePushCertificate } from '../../../src/lab/pki/lab-authority.js';
import { APNS_ID, type StandInUnderTest, startUnderTest, TOKEN } from './stand-in-under-test.js';

let lab: StandInUnderTest;

beforeAll(async () => {
  lab = await startUnderTest();
});

afterAll(async () => {
  await lab.stop();
});

describe('the stand-in for APNs refuses', () => {
  it.each([
    ['PUT', 405, 'MethodNotAllowed', { ':method': 'PUT' }],
    ['another path', 404, 'BadPath', { ':path': '/2/device/x' }],
    ['a path below a token', 404, 'BadPath', { ':path': `/3/device/${TOKEN}/x` }],
    ['no token', 400, 'MissingDeviceToken', { ':path': '/3/device/' }],
    [
      'a token that is not hexadecimal',
      400,
      'BadDeviceToken',
      { ':path': `/3/device/${'zz'.repeat(32)}` },
    ],
    ['a token of 31 bytes', 400, 'BadDeviceToken', { ':path': `/3/device/${'ab'.repeat(31)}` }],
    ['a token of 101 bytes', 400, 'BadDeviceToken', { ':path': `/3/device/${'ab'.repeat(101)}` }],
    ['a token of an odd length', 400, 'BadDeviceToken', { ':path': `/3/device/${TOKEN}a` }],
    ['no topic', 400, 'MissingTopic', { 'apns-topic': undefined }],
    [
      'a topic of another certificate',
      400,
      'BadTopic',
      { 'apns-topic': 'com.apple.mgmt.External.x' },
    ],
    ['no push type', 400, 'InvalidPushType', { 'apns-push-type': undefined }],
    ['another push type', 400, 'InvalidPushType', { 'apns-push-type': 'alert' }],
    ['a priority that there is not', 400, 'BadPriority', { 'apns-priority': '7' }],
    ['an expiration that is no number', 400, 'BadExpirationDate', { 'apns-expiration': '-1' }],
    ['a collapse id of 65 bytes', 400, 'BadCollapseId', { 'apns-collapse-id': 'x'.repeat(65) }],
    ['a header sent twice', 400, 'DuplicateHeaders', { 'apns-priority': ['5', '10'] }],
  ])('%s', async (_what, status, reason, changes) => {
    const answer = await lab.push(changes);
    expect(answer).toMatchObject({ status, body: { reason }, headers: { 'apns-id': APNS_ID } });
  });

  it('an id that is no UUID, and answers with a new one', async () => {
    const { status, body, headers } = await lab.push({ 'apns-id': 'x' });
    expect([status, body]).toEqual([400, { reason: 'BadMessageId' }]);
    expect(headers['apns-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  });

  it.each([
    ['nothing', 400, 'PayloadEmpty', ''],
    ['4097 bytes', 413, 'PayloadTooLarge', JSON.stringify({ mdm: 'x'.repeat(4087) })],
    ['no JSON', 400, 'BadPayload', '{"mdm":'],
    ['null', 400, 'BadPayload', 'null'],
    ['a magic that is no string', 400, 'BadPayload', '{"mdm":1}'],
    ['more than the magic', 400, 'BadPayload', '{"mdm":"x","aps":{}}'],
    ['a notification of an app', 400, 'BadPayload', '{"aps":{"alert":"x"}}'],
  ])('as a payload %s', async (_what, status, reason, payload) => {
    expect(await lab.push({}, payload)).toMatchObject({ status, body: { reason } });
  });

  it('a pusher without a certificate', async () => {
    const answer = await lab.pushOn(lab.open(null));
    expect(answer).toMatchObject({ status: 403, body: { reason: 'BadCertificate' } });
  });

  it('a certificate of another CA', async () => {
    const foreign = await issuePushCertificate(await createLabAuthority(), { topic: lab.topic });
    const answer = await lab.pushOn(lab.open(foreign));
    expect(answer).toMatchObject({ status: 403, body: { reason: 'BadCertificate' } });
  });

  it('a certificate that has expired', async () => {
    const expired = await issuePushCertificate(lab.authority, {
      topic: lab.topic,
      notAfter: new Date(Date.now() - 1000),
    });
    const answer = await lab.pushOn(lab.open(expired));
    expect(answer).toMatchObject({ status: 403, body: { reason: 'BadCertificate' } });
  });
});

describe('the stand-in for APNs accepts', () => {
  it('a valid push, and answers with its id', async () => {
    const answer = await lab.push();
    expect(answer).toMatchObject({ status: 200, headers: { 'apns-id': APNS_ID } });
    expect(answer.body).toBeUndefined();
  });

  it('a push with only the required headers, and generates an id', async () => {
    const optional = {
      'apns-id': undefined,
      'apns-priority': undefined,
      'apns-expiration': undefined,
    };
    const { status, headers } = await lab.push(optional);
    expect(status).toBe(200);
    expect(headers['apns-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  });

  it('tokens of 100 bytes, and in capitals', async () => {
    expect((await lab.push({ ':path': `/3/device/${'cd'.repeat(100)}` })).status).toBe(200);
    expect((await lab.push({ ':path': `/3/device/${'EF'.repeat(32)}` })).status).toBe(200);
    expect(lab.standIn.token('ef'.repeat(32))?.accepted).toBe(1);
  });

  it('4096 bytes', async () => {
    const payload = JSON.stringify({ mdm: 'x'.repeat(4086) });
    expect(Buffer.byteLength(payload)).toBe(4096);
    expect((await lab.push({}, payload)).status).toBe(200);
  });

  it.each(['1', '5', '10'])('priority %s', async (priority) => {
    expect((await lab.push({ 'apns-priority': priority })).status).toBe(200);
  });
});

describe('the counters of the stand-in', () => {
  it('show how many pushes got which answer', async () => {
    lab.standIn.resetCounters();
    await lab.push();
    await lab.push({ 'apns-priority': '7' });
    await lab.push({ 'apns-priority': '8' });
    await lab.push({ ':method': 'PUT' });
    expect(lab.standIn.report()).toMatchObject({
      total: 4,
      by_status: { 200: 1, 400: 2, 405: 1 },
      by_reason: { BadPriority: 2, MethodNotAllowed: 1 },
    });
  });
});
