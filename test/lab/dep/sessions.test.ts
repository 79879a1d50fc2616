import { request } from 'node:https';
import { signatureBaseString } from '../../../src/lab/dep/oauth-request.js';
import type { ServerToken } from '../../../src/lab/dep/server-tokens.js';
import { authorization, DepUnderTest } from './dep-under-test.js';

let lab: DepUnderTest;
let token: ServerToken;

beforeAll(async () => {
  lab = await DepUnderTest.start({ sessions: { repliesBeforeRenewal: 3 } });
});

beforeEach(() => {
  token = lab.standIn.portal.issueToken();
});

afterAll(() => lab.stop());

const url = () => `${lab.standIn.url}/session`;
const header = (changes: Record<string, string> = {}) => authorization(url(), token, changes);
const outcome = async (authorizationHeader: string) => {
  const { status, text } = await lab.askSession(authorizationHeader);
  return `${status} ${text}`;
};

describe('a session is refused', () => {
  it('without a signature', async () => {
    const headers = { 'User-Agent': 'tests/1', 'X-Server-Protocol-Version': '9' };
    expect(await lab.send({ path: '/session', headers })).toMatchObject({
      status: 401,
      text: 'UNAUTHORIZED',
    });
    expect(await outcome('Bearer x')).toBe('401 UNAUTHORIZED');
  });

  it.each([
    ['another method', { oauth_signature_method: 'PLAINTEXT' }, '400 signature_method_rejected'],
    ['another version', { oauth_version: '2.0' }, '400 version_rejected'],
    ['an empty nonce', { oauth_nonce: '' }, '400 parameter_absent'],
    ['a key that is none', { oauth_consumer_key: 'CK_x' }, '401 consumer_key_unknown'],
    ['a token that is none', { oauth_token: 'AT_x' }, '401 token_rejected'],
    ['another signature', { oauth_signature: 'AAAA' }, '401 signature_invalid'],
    ['another time than was signed', { oauth_timestamp: '1' }, '401 signature_invalid'],
    ['more than was signed', { oauth_more: 'x' }, '401 signature_invalid'],
  ])('for %s', async (_what, changes, words) => {
    expect(await outcome(header(changes))).toBe(words);
  });

  it('for a header that is malformed, or names a parameter twice', async () => {
    expect(await outcome(`${header()}, oauth_nonce="x"`)).toBe('400 parameter_rejected');
    expect(await outcome('OAuth oauth_nonce')).toBe('400 parameter_rejected');
    expect(await outcome('OAuth oauth_nonce="%zz"')).toBe('400 parameter_rejected');
    expect(await outcome(`OAuth a="${'x'.repeat(5000)}"`)).toBe('400 parameter_rejected');
  });

  it('for secrets of another token', async () => {
    const other = lab.standIn.portal.issueToken({ server: 'other' });
    const mixed = { ...token, access_secret: other.access_secret };
    expect(await outcome(authorization(url(), mixed))).toBe('401 signature_invalid');
  });

  it('for a token that has expired', async () => {
    token = lab.standIn.portal.issueToken({ expiresIn: -1 });
    expect(await outcome(header())).toBe('401 token_expired');
  });

  it('for a token that the portal has replaced or revoked', async () => {
    const old = header();
    token = lab.standIn.portal.issueToken();
    expect(await outcome(old)).toBe('401 token_rejected');
    expect(await outcome(header())).toMatch(/^200 /);
    expect((await lab.portal('DELETE', '/token')).status).toBe(204);
    expect(await outcome(header())).toBe('401 token_rejected');
  });

  it('for a nonce that was used, and for a wrong clock', async () => {
    const used = header();
    expect(await outcome(used)).toMatch(/^200 /);
    expect(await outcome(used)).toBe('401 nonce_used');
    const late = authorization(url(), token, {}, 601);
    expect(await outcome(late)).toBe('401 timestamp_refused');
  });

  it('for a signature over another query', async () => {
    const { status, text } = await lab.askSession(header(), '/session?a=1');
    expect([status, text]).toEqual([401, 'signature_invalid']);
    const signed = authorization(`${url()}?a=1&a=%20b`, token);
    expect((await lab.askSession(signed, '/session?a=1&a=%20b')).status).toBe(200);
  });

  it('as long as the terms are not signed', async () => {
    await lab.portal('POST', '/terms', { signed: false });
    expect(await outcome(header())).toBe('403 T_C_NOT_SIGNED');
    await lab.portal('POST', '/terms', { signed: true });
    expect(await outcome(header())).toMatch(/^200 /);
  });
});

describe('a call is refused', () => {
  const headers = { 'User-Agent': 'tests/1', 'X-Server-Protocol-Version': '9' };

  it('without the headers that Apple wants', async () => {
    const session = { 'X-ADM-Auth-Session': await lab.openSession(token) };
    const call = async (given: Record<string, string>) =>
      (await lab.send({ path: '/account', headers: { ...given, ...session } })).text;
    expect(await call({ 'X-Server-Protocol-Version': '9' })).toBe('USER_AGENT_MISSING');
    expect(await call({ ...headers, 'User-Agent': ' ' })).toBe('USER_AGENT_MISSING');
    expect(await call({ 'User-Agent': 'tests/1' })).toBe('PROTOCOL_VERSION_INVALID');
    expect(JSON.parse(await call(headers)).server_name).toBe('Muster');
  });

  it('without a session, with an expired one, and with one that was removed', async () => {
    expect(await lab.send({ path: '/account', headers })).toMatchObject({
      status: 403,
      text: 'FORBIDDEN',
    });
    await lab.openSession(token);
    await lab.portal('POST', '/sessions/expire');
    expect(await lab.call('GET', '/account')).toMatchObject({ status: 401, text: 'UNAUTHORIZED' });
    await lab.openSession(token);
    await lab.portal('POST', '/sessions/expire', { status: 403 });
    expect(await lab.call('GET', '/account')).toMatchObject({ status: 403, text: 'FORBIDDEN' });
  });

  it('once the token of the session was replaced', async () => {
    await lab.openSession(token);
    lab.standIn.portal.issueToken();
    expect(await lab.call('GET', '/account')).toMatchObject({ status: 401, text: 'UNAUTHORIZED' });
  });

  it('on unknown paths, by unknown methods, and with bodies that are too large', async () => {
    await lab.openSession(token);
    expect(await lab.call('GET', '/nothing')).toMatchObject({ status: 404, text: 'NOT_FOUND' });
    expect((await lab.call('GET', '/__proto__')).status).toBe(404);
    expect((await lab.call('DELETE', '/account')).status).toBe(405);
    expect((await lab.call('PUT', '/session')).status).toBe(405);
    const large = Buffer.alloc(4 * 1024 * 1024 + 1, 0x20);
    expect(await lab.call('POST', '/profile', large)).toMatchObject({
      status: 413,
      text: 'REQUEST_TOO_LARGE',
    });
  });

  it('of a client that does not trust the CA, by the client', async () => {
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => {
      request(url()).once('error', resolve).end();
    });
    expect(error.code).toMatch(/UNABLE_TO_VERIFY|SELF_SIGNED/);
  });
});

describe('a session', () => {
  it('is renewed by an answer now and then, and the former one stays valid', async () => {
    const first = await lab.openSession(token);
    const renewals: unknown[] = [];
    for (let i = 0; i < 4; i += 1) {
      renewals.push((await lab.call('GET', '/account')).headers['x-adm-auth-session']);
    }
    expect(renewals).toEqual([undefined, undefined, expect.any(String), undefined]);
    expect(renewals[2]).not.toBe(first);
  });
});

it('signs as the example of RFC 5849 3.4.1.1 does', () => {
  const base = signatureBaseString({
    method: 'post',
    url: new URL('http://EXAMPLE.com:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b'),
    parameters: [
      ...([['oauth_consumer_key', '9djdj82h48djs9d2']] as const),
      ...([['oauth_token', 'kkk9d7dh3k39sjv7']] as const),
      ...([['oauth_signature_method', 'HMAC-SHA1']] as const),
      ...([['oauth_timestamp', '137131201']] as const),
      ...([['oauth_nonce', '7d8f3e4a']] as const),
      ...([['c2', '']] as const),
      ...([['a3', '2 q']] as const),
    ],
  });
  expect(base).toBe(
    'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D' +
      '%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a' +
      '%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
  );
});
