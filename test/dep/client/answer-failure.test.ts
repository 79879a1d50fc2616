import { isSessionRefused, readFailure } from '../../../src/dep/client/answer-failure.js';
import { readText } from '../../../src/dep/client/answers.js';
import type { ServiceAnswer } from '../../../src/dep/client/exchange.js';

const NOW = Date.parse('2026-11-22T10:00:00Z');
const PAGE = '<html><body><h1>Access denied by policy</h1></body></html>';

function answer(status: number, body = '', headers: Record<string, string> = {}): ServiceAnswer {
  return { status, body, headers };
}

function fault(given: ServiceAnswer, path = '/devices/sync') {
  const { kind, text, message, retryAt } = readFailure(given, { path, host: 'apple', now: NOW });
  return { kind, text, message, retryAt };
}

describe('an answer of Apple that is no success', () => {
  it.each([
    [403, 'T_C_NOT_SIGNED', 'terms_not_signed'],
    [400, 'EXPIRED_CURSOR', 'cursor_lost'],
    [400, 'INVALID_CURSOR', 'cursor_lost'],
    [400, 'CURSOR_REQUIRED', 'cursor_lost'],
    [400, 'EXHAUSTED_CURSOR', 'cursor_exhausted'],
    [400, 'PROFILE_NOT_FOUND', 'profile_not_found'],
    [404, 'PROFILE_NOT_FOUND', 'profile_not_found'],
    [401, 'UNAUTHORIZED', 'token_rejected'],
    [403, 'FORBIDDEN', 'token_rejected'],
    [403, 'ACCESS_DENIED', 'token_rejected'],
    [400, 'USER_AGENT_INVALID', 'refused'],
    [400, 'MALFORMED_REQUEST_BODY', 'refused'],
    [404, 'NOT_FOUND', 'refused'],
    [405, '', 'refused'],
  ])('%i %s is %s', (status, words, kind) => {
    expect(fault(answer(status, words))).toMatchObject({ kind, text: words });
  });

  it.each([
    ['"EXPIRED_CURSOR"', 'EXPIRED_CURSOR'],
    ['  EXPIRED_CURSOR\r\n', 'EXPIRED_CURSOR'],
    [
      '{"code":"EXPIRED_CURSOR","message":"older than 7 days"}',
      'EXPIRED_CURSOR: older than 7 days',
    ],
    ['{"errors":[{"code":"EXPIRED_CURSOR"}]}', 'EXPIRED_CURSOR'],
    ['"EXPIRED_CURSOR', 'EXPIRED_CURSOR'],
  ])('has its text in %s', (body, text) => {
    expect(fault(answer(400, body))).toMatchObject({ kind: 'cursor_lost', text });
  });

  it('has its text shortened to one line', () => {
    const { text } = fault(answer(400, `BAD\u0000\n\u2028${'x'.repeat(600)}`));
    expect(text).toHaveLength(500);
    expect(text).toMatch(/^BAD x+…$/);
  });

  it.each([
    ['direction', 'ab\u202ecd\u2066e\u2069f\u200f', 'abcdef'],
    ['nothing that is seen', '\ufeffa\u200bb\u200d\u2060c\u00ad\u{e0041}d\u3164\ufe0f', 'abcd'],
    ['no one else', 'a\ue000b\u{f0000}c', 'a b c'],
    ['another line', 'a\u2028b\u2029\u0085c\r\nd', 'a b c d'],
  ])('contains no character that means %s', (_, given, text) => {
    expect(fault(answer(400, JSON.stringify({ message: given }))).text).toBe(text);
    expect(readText(given)).toBe(text);
  });

  it('means a missing profile when an assignment is answered 404', () => {
    expect(fault(answer(404, 'NOT_FOUND'), '/profile/devices').kind).toBe('profile_not_found');
  });

  it('does not concern the token where Apple grants disowning separately', () => {
    expect(fault(answer(403, 'ACCESS_DENIED'), '/devices/disown').kind).toBe('refused');
  });

  it('means throttled until the time it names, at the latest a day later', () => {
    const until = (value: string) => fault(answer(429, '', { 'retry-after': value })).retryAt;
    expect(until('120')).toEqual(new Date(NOW + 120_000));
    expect(until('Sun, 22 Nov 2026 10:05:00 GMT')).toEqual(new Date(NOW + 300_000));
    expect(until('Sun, 22 Nov 2020 10:05:00 GMT')).toEqual(new Date(NOW + 1_000));
    expect(until('999999999')).toEqual(new Date(NOW + 86_400_000));
    expect(until('soon')).toEqual(new Date(NOW + 60_000));
    expect(fault(answer(429, PAGE)).kind).toBe('throttled');
  });

  it.each([
    [301, ''],
    [407, 'Proxy Authentication Required'],
    [500, 'INTERNAL'],
    [502, PAGE],
    [403, PAGE],
    [200, PAGE],
    [404, PAGE],
  ])('means unreachable when a proxy answers %i %s', (status, body) => {
    expect(fault(answer(status, body)).kind).toBe('unreachable');
  });

  it('does not contain the text of a proxy', () => {
    expect(fault(answer(403, PAGE))).toEqual({
      kind: 'unreachable',
      text: '',
      retryAt: undefined,
      message: 'apple answers 403 with a web page, as a proxy would',
    });
  });
});

describe('an answer to a login that is no session', () => {
  const challenge = (problem: string) => ({
    'www-authenticate': `OAuth realm="ADM", oauth_problem="${problem}"`,
  });

  it.each([
    [401, 'oauth_problem=token_rejected', 'token_rejected'],
    [401, 'oauth_problem=signature_invalid', 'token_rejected'],
    [400, 'oauth_problem_adviceBad Request', 'token_rejected'],
    [403, 'ACCESS_DENIED', 'token_rejected'],
    [403, '', 'token_rejected'],
    [401, 'oauth_problem=token_expired', 'token_expired'],
    [403, '"T_C_NOT_SIGNED"', 'terms_not_signed'],
    [400, 'USER_AGENT_MISSING', 'refused'],
    [404, 'NOT_FOUND', 'unreachable'],
    [401, PAGE, 'unreachable'],
    [403, PAGE, 'unreachable'],
  ])('%i %s is %s', (status, words, kind) => {
    expect(fault(answer(status, words), '/session').kind).toBe(kind);
  });

  it('has its text in the challenge when the body is empty', () => {
    expect(fault(answer(401, '', challenge('token_expired')), '/session')).toMatchObject({
      kind: 'token_expired',
      text: 'OAuth realm="ADM", oauth_problem="token_expired"',
    });
    expect(fault(answer(401, PAGE, challenge('consumer_key_unknown')), '/session').kind).toBe(
      'token_rejected',
    );
  });

  it('contains by how much the clock is wrong', () => {
    const refused = (date: Record<string, string>) =>
      fault(answer(401, 'oauth_problem=timestamp_refused', date), '/session');
    const message = (words: string) => ({
      kind: 'token_rejected',
      message: `the clock of this server is ${words}`,
    });
    const ahead = refused({ date: 'Sun, 22 Nov 2026 09:00:00 GMT' });
    expect(ahead).toMatchObject(message("3600 s ahead of Apple's"));
    const behind = refused({ date: 'Sun, 22 Nov 2026 10:10:00 GMT' });
    expect(behind).toMatchObject(message("600 s behind Apple's"));
    expect(refused({})).toMatchObject(message("not Apple's"));
  });
});

describe('a session', () => {
  it.each([
    [401, '', true],
    [401, PAGE, true],
    [403, '"FORBIDDEN"', true],
    [403, 'Unauthorized', true],
    [403, 'ACCESS_DENIED', true],
    [403, '', true],
    [403, 'T_C_NOT_SIGNED', false],
    [403, PAGE, false],
    [400, 'UNAUTHORIZED', false],
    [200, '{}', false],
  ])('is refused by %i %s: %s', (status, body, expected) => {
    expect(isSessionRefused(answer(status, body))).toBe(expected);
  });
});
