import { ADMIN_TOKEN, adminApi, PUBLIC_URL, startApp, type TestApp } from '../../helpers/app.js';
import {
  browserOf,
  CONSOLE,
  cookieOf,
  DOCUMENT,
  faultOf,
  type Headers,
  newToken,
} from './session-browser.js';

const HOUR_MS = 3_600_000;

let app: TestApp;
let cookieName: string;
let browser: ReturnType<typeof browserOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false, env: { PUBLIC_URL: 'http://localhost:8080' } });
  cookieName = `muster_session_${new URL(app.url).port}`;
  browser = browserOf(app);
});
afterAll(() => app.stop());
afterEach(() => app.db.knex('sessions').delete());

const call: typeof browser.call = (...request) => browser.call(...request);
const signInWith: typeof browser.signInWith = (...request) => browser.signInWith(...request);
const signedIn: typeof browser.signedIn = (token) => browser.signedIn(token);

async function countSessions(): Promise<number> {
  const [row] = await app.db.knex('sessions').count({ count: '*' });
  return Number(row?.count);
}

describe('a sign-in', () => {
  it.each<[string, object, number, string]>([
    ['a wrong token', { token: 'mst_wrong' }, 401, 'unauthorized'],
    ['no token', {}, 422, 'validation_failed'],
    ['an empty token', { token: '' }, 422, 'validation_failed'],
    ['a token that is no text', { token: 7 }, 422, 'validation_failed'],
    ['a token over 1,000 characters', { token: 'x'.repeat(1_001) }, 422, 'validation_failed'],
    ['an unknown member', { token: ADMIN_TOKEN, password: 'x' }, 422, 'validation_failed'],
  ])('is refused with %s, and sets no cookie', async (_case, attributes, status, code) => {
    const reply = await signInWith(attributes);
    expect(faultOf(reply)).toEqual([status, code]);
    expect(reply.headers.get('set-cookie')).toBeNull();
    expect(await countSessions()).toBe(0);
  });

  it('is refused without a document, with parameters and from pages of other sites', async () => {
    const empty = await call('POST', '/sessions', { 'Content-Type': DOCUMENT });
    expect(empty.status).toBe(422);
    expect((await call('POST', '/sessions', { 'Content-Type': 'text/plain' })).status).toBe(415);
    const body = { data: { type: 'sessions', attributes: { token: ADMIN_TOKEN } } };
    expect((await call('POST', '/sessions?x=1', {}, body)).status).toBe(400);
    expect(
      (await call('PATCH', '/sessions', { Authorization: `Bearer ${ADMIN_TOKEN}` })).status,
    ).toBe(405);
    for (const headers of [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'none' },
      { Origin: 'https://evil.example.com' },
      { Origin: 'null' },
    ]) {
      expect(faultOf(await signInWith({ token: ADMIN_TOKEN }, headers))).toEqual([
        403,
        'forbidden',
      ]);
    }
    expect(await countSessions()).toBe(0);
  });

  it('is refused with 429 after 20 wrong tokens within a minute, a right one never', async () => {
    const other = await startApp({ isSweeping: false });
    const post = (token: string) =>
      fetch(`${other.url}/api/v1/sessions`, {
        method: 'POST',
        headers: { 'Content-Type': DOCUMENT },
        body: JSON.stringify({ data: { type: 'sessions', attributes: { token } } }),
      });
    const statuses: number[] = [];
    for (let index = 0; index < 21; index += 1) statuses.push((await post(`no-${index}`)).status);
    expect(statuses).toEqual([...Array<number>(20).fill(401), 429]);
    // Counted together with the tokens that programs send.
    const bearer = await adminApi(other, 'wrong').get('/me');
    expect(bearer.status).toBe(429);
    expect((await post(ADMIN_TOKEN)).status).toBe(201);
    await other.stop();
  });

  it('does not make the browser open its password dialog', async () => {
    const { headers } = await signInWith({ token: 'wrong' }, CONSOLE);
    expect(headers.get('www-authenticate')).toBe('Bearer realm="muster"');
    const read = await call('GET', '/me', { 'X-Muster-Console': 'background' });
    expect([read.status, read.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="muster"',
    ]);
  });

  it('answers with the session and a cookie that scripts cannot read', async () => {
    const { row, token } = await newToken(app, 'operator');
    const agent = `Test ${'x'.repeat(400)}`;
    const reply = await signInWith({ token }, { 'User-Agent': agent, ...CONSOLE });
    const { id } = reply.body.data;
    expect(reply.status).toBe(201);
    expect(reply.headers.get('location')).toBe(`/api/v1/sessions/${id}`);
    const time = expect.stringMatching(/\+00:00$/);
    expect(reply.body).toEqual({
      data: {
        type: 'sessions',
        id,
        attributes: {
          name: 'a operator',
          role: 'operator',
          created_at: time,
          authenticated_at: time,
          last_used_at: time,
          idle_ends_at: time,
          ends_at: time,
          user_agent: agent.slice(0, 300),
          ip_address: '127.0.0.1',
          is_current: true,
        },
        links: { self: `/api/v1/sessions/${id}` },
      },
      links: { self: `/api/v1/sessions/${id}` },
      jsonapi: { version: '1.0' },
    });
    const { created_at, idle_ends_at, ends_at } = reply.body.data.attributes;
    const since = (end: string) => Date.parse(end) - Date.parse(created_at);
    expect([since(idle_ends_at), since(ends_at)]).toEqual([8 * HOUR_MS, 7 * 24 * HOUR_MS]);
    const [value, ...options] = (reply.headers.get('set-cookie') ?? '').split('; ');
    expect(value).toMatch(new RegExp(`^${cookieName}=t[\\w-]{43}$`));
    expect(options.filter((option) => !option.startsWith('Expires'))).toEqual([
      expect.stringMatching(/^Max-Age=6047\d\d$/),
      'Path=/',
      'HttpOnly',
      'SameSite=Strict',
    ]);
    const [stored] = await app.db.knex('sessions');
    expect(stored).toMatchObject({ id, token_id: row.id });
    expect(JSON.stringify(stored)).not.toContain(value?.split('=')[1] ?? '?');
    expect(app.logText()).not.toContain(value?.split('=')[1] ?? '?');
  });

  it('leaves an audit line, without the secret', async () => {
    const { id } = await signedIn();
    const [event] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect(event).toMatchObject({
      actor: 'ADMIN_TOKEN',
      role: 'admin',
      action: 'sessions.create',
      target_type: 'sessions',
      target_id: String(id),
      session_id: id,
      outcome: 'success',
    });
  });

  it('replaces the session that the browser has', async () => {
    const first = await signedIn();
    const reply = await signInWith({ token: ADMIN_TOKEN }, first.cookie);
    expect(reply.body.data.id).not.toBe(first.id);
    expect((await call('GET', '/me', first.cookie)).status).toBe(401);
    expect((await call('GET', '/me', { Cookie: cookieOf(reply) })).status).toBe(200);
    expect(await countSessions()).toBe(1);
  });

  it('keeps the 100 most recently used sessions of a token', async () => {
    const { row, token } = await newToken(app, 'viewer');
    const old = Array.from({ length: 105 }, (_, index) => ({
      token_id: row.id,
      secret_hash: Buffer.alloc(32, index),
      last_used_at: new Date(index),
      idle_ends_at: new Date(Date.now() + HOUR_MS),
      ends_at: new Date(Date.now() + HOUR_MS),
    }));
    await app.db.knex('sessions').insert(old);
    await signedIn(token);
    expect(await countSessions()).toBe(100);
    const [oldest] = await app.db.knex('sessions').min({ at: 'last_used_at' });
    expect(oldest?.at).toEqual(new Date(6));
  });
});

describe('the cookie', () => {
  let https: TestApp;
  beforeAll(async () => {
    https = await startApp({ isSweeping: false });
  });
  afterAll(() => https.stop());

  /** As a proxy with TLS passes it on. */
  function post(headers: Headers) {
    return new Promise<{ status: number; cookie: string }>((resolve, reject) => {
      const { hostname, port } = new URL(https.url);
      const body = JSON.stringify({
        data: { type: 'sessions', attributes: { token: ADMIN_TOKEN } },
      });
      const length = String(Buffer.byteLength(body));
      const all = { 'Content-Type': DOCUMENT, 'Content-Length': length, ...headers };
      const { request } = jest.requireActual<typeof import('node:http')>('node:http');
      const options = { hostname, port, path: '/api/v1/sessions', method: 'POST', headers: all };
      const sent = request(options, (res) => {
        res.resume();
        const [cookie = ''] = res.headers['set-cookie'] ?? [];
        res.on('end', () => resolve({ status: res.statusCode ?? 0, cookie }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  it('goes over https only where the public address is https', async () => {
    const { status, cookie } = await post({ Host: 'mdm.example.com', Origin: PUBLIC_URL });
    expect(status).toBe(201);
    expect(cookie).toMatch(
      /^__Host-muster=e[\w-]{43}; .*Path=\/; .*HttpOnly; Secure; SameSite=Strict$/,
    );
    expect(cookie).not.toContain('Domain');
  });

  it('is not Secure for a person on the machine itself, who may use plain HTTP', async () => {
    const { status, cookie } = await post({ Host: 'localhost:8080' });
    expect([status, cookie]).toEqual([201, expect.stringMatching(/^muster_session_8080=e/)]);
    expect(cookie).not.toContain('Secure');
  });

  it('is refused, rather than lost, where the page came over http', async () => {
    const Origin = 'http://mdm.example.com';
    expect((await post({ Host: 'mdm.example.com', Origin })).status).toBe(403);
  });
});
