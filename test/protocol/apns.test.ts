import { sensitiveHeaders } from 'node:http2';
import {
  isCertificateReason,
  judge,
  pushHeaders,
  pushPayload,
  readAnswer,
  readRefusal,
  type Verdict,
} from '../../src/protocol/apns.js';

const TOPIC = 'com.apple.mgmt.External.11111111-2222-4333-8444-555555555555';
const APNS_ID = '0f7e7a4e-3c1b-4f0a-9d57-1f2b3c4d5e6f';

describe('pushHeaders', () => {
  it('names the device, the topic, an MDM push of priority 10, and until when it is kept', () => {
    const push = { token: 'ab12', pushMagic: 'M', topic: TOPIC, apnsId: APNS_ID, expiration: 1800 };
    expect(Object.entries(pushHeaders(push))).toEqual([
      [':method', 'POST'],
      [':path', '/3/device/ab12'],
      ['apns-topic', TOPIC],
      ['apns-push-type', 'mdm'],
      ['apns-priority', '10'],
      ['apns-expiration', '1800'],
      ['apns-id', APNS_ID],
    ]);
  });

  it('leaves out absent members', () => {
    const headers = pushHeaders({ token: 'ab12', pushMagic: 'M', topic: TOPIC });
    expect(Object.keys(headers)).not.toContain('apns-id');
    expect(Object.keys(headers)).not.toContain('apns-expiration');
  });

  it('keeps what differs from push to push out of the HPACK table', () => {
    const headers = pushHeaders({ token: 'ab12', pushMagic: 'M', topic: TOPIC });
    expect(Reflect.get(headers, sensitiveHeaders)).toEqual([':path', 'apns-id']);
  });
});

describe('pushPayload', () => {
  it.each([
    ['5A1D', '{"mdm":"5A1D"}'],
    ['quote " and \\ and \n', '{"mdm":"quote \\" and \\\\ and \\n"}'],
    ['ключ', '{"mdm":"ключ"}'],
  ])('carries the magic %j and nothing else', (magic, payload) => {
    expect(pushPayload(magic)).toBe(payload);
    expect(JSON.parse(payload)).toEqual({ mdm: magic });
  });
});

describe('readRefusal', () => {
  const nothing = { reason: null, timestamp: null };

  it.each([
    ['no body', ''],
    ['no JSON', '<html>bad gateway</html>'],
    ['half of a document', '{"reason":"BadDevi'],
    ['null', 'null'],
    ['a number', '42'],
    ['a list', '["BadDeviceToken"]'],
    ['a reason that is no word', '{"reason":"<script>"}'],
    ['an endless reason', JSON.stringify({ reason: 'x'.repeat(65) })],
    ['a reason that is no text', '{"reason":{"a":1},"timestamp":"soon"}'],
    ['more than 4 KB', JSON.stringify({ reason: 'BadDeviceToken', more: 'x'.repeat(4096) })],
  ])('is null for %s', (_, body) => {
    expect(readRefusal(Buffer.from(body))).toEqual(nothing);
  });

  it('is null without a body', () => {
    expect(readRefusal(undefined)).toEqual(nothing);
  });

  it('reads the reason and since when a token is invalid', () => {
    const body = Buffer.from('{"reason":"Unregistered","timestamp":1793184000123}');
    expect(readRefusal(body)).toEqual({ reason: 'Unregistered', timestamp: 1793184000123 });
  });

  it.each([
    [-5, 0],
    [1.5, null],
    [1e300, null],
  ])('reads the timestamp %d as %p', (given, read) => {
    const body = Buffer.from(JSON.stringify({ reason: 'Unregistered', timestamp: given }));
    expect(readRefusal(body).timestamp).toBe(read);
  });
});

describe('readAnswer', () => {
  it('reads a delivery, whatever the body', () => {
    const body = Buffer.from('{"reason":"BadDeviceToken"}');
    expect(readAnswer(200, { 'apns-id': APNS_ID }, body)).toEqual({
      status: 200,
      apnsId: APNS_ID,
      reason: null,
      timestamp: null,
      retryAfter: null,
    });
  });

  it('reads a refusal', () => {
    const body = Buffer.from('{"reason":"ExpiredToken","timestamp":1700000000000}');
    const headers = { 'apns-id': APNS_ID.toUpperCase(), 'retry-after': '7' };
    expect(readAnswer(410, headers, body)).toEqual({
      status: 410,
      apnsId: APNS_ID.toUpperCase(),
      reason: 'ExpiredToken',
      timestamp: 1700000000000,
      retryAfter: 7,
    });
  });

  it('ignores an apns-id that is no UUID', () => {
    expect(readAnswer(200, { 'apns-id': 'drop table' }).apnsId).toBeNull();
    expect(readAnswer(200, { 'apns-id': `${APNS_ID}0` }).apnsId).toBeNull();
  });

  it.each([
    ['0', 0],
    ['120', 120],
    ['999999999', 86_400],
    ['-1', null],
    ['some day GMT', null],
    ['soon', null],
    ['', null],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 86_400],
  ])('reads Retry-After %j as %p seconds', (text, seconds) => {
    expect(readAnswer(429, { 'retry-after': text }).retryAfter).toBe(seconds);
  });

  it('reads Retry-After as a date', () => {
    const at = new Date(Date.now() + 60_000).toUTCString();
    const { retryAfter } = readAnswer(503, { 'retry-after': at });
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
  });
});

/** Apple's table, and answers seen in practice. */
const ANSWERS: [number, string | null, Verdict][] = [
  [200, null, 'delivered'],
  [400, 'BadCollapseId', 'rejected'],
  [400, 'BadDeviceToken', 'bad_token'],
  [400, 'BadExpirationDate', 'rejected'],
  [400, 'BadMessageId', 'rejected'],
  [400, 'BadPriority', 'rejected'],
  [400, 'BadTopic', 'certificate'],
  [400, 'BadCertificate', 'certificate'],
  [400, 'BadCertificateEnvironment', 'certificate'],
  [400, 'DeviceTokenNotForTopic', 'bad_token'],
  [400, 'DuplicateHeaders', 'rejected'],
  [400, 'IdleTimeout', 'retry'],
  [400, 'InvalidPushType', 'rejected'],
  [400, 'MissingDeviceToken', 'bad_token'],
  [400, 'MissingTopic', 'certificate'],
  [400, 'PayloadEmpty', 'rejected'],
  [400, 'TopicDisallowed', 'certificate'],
  [400, null, 'rejected'],
  [403, 'BadCertificate', 'certificate'],
  [403, 'BadCertificateEnvironment', 'certificate'],
  [403, 'BadEnvironmentKeyIdInToken', 'certificate'],
  [403, 'ExpiredProviderToken', 'certificate'],
  [403, 'Forbidden', 'certificate'],
  [403, 'InvalidProviderToken', 'certificate'],
  [403, 'MissingProviderToken', 'certificate'],
  [403, 'UnrelatedKeyIdInToken', 'certificate'],
  [403, null, 'certificate'],
  [404, 'BadPath', 'rejected'],
  [405, 'MethodNotAllowed', 'rejected'],
  [408, null, 'retry'],
  [410, 'ExpiredToken', 'unregistered'],
  [410, 'Unregistered', 'unregistered'],
  [410, null, 'unregistered'],
  [413, 'PayloadTooLarge', 'rejected'],
  [429, 'TooManyProviderTokenUpdates', 'retry'],
  [429, 'TooManyRequests', 'retry'],
  [500, 'InternalServerError', 'retry'],
  [502, null, 'retry'],
  [503, 'ServiceUnavailable', 'retry'],
  [503, 'Shutdown', 'retry'],
  [302, null, 'rejected'],
  [418, 'BadDeviceToken', 'rejected'],
];

describe('judge', () => {
  it.each(ANSWERS)('judges %d %s as %s', (status, reason, verdict) => {
    expect(judge({ status, reason })).toBe(verdict);
  });
});

describe('isCertificateReason', () => {
  it.each([
    ['BadCertificate', true],
    ['BadCertificateEnvironment', true],
    ['TopicDisallowed', true],
    ['Shutdown', false],
    ['IdleTimeout', false],
    [null, false],
  ])('says of %s: %s', (reason, expected) => {
    expect(isCertificateReason(reason)).toBe(expected);
  });
});
