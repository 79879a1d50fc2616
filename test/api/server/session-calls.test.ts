import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { browserOf, CONSOLE, faultOf, type Headers, newToken } from './session-browser.js';

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
const signedIn: typeof browser.signedIn = (token) => browser.signedIn(token);

describe('a call by a session', () => {
  it.each([
    ['an unknown one', 't'.padEnd(44, 'x')],
    ['one of the environment that never was', 'e'.padEnd(44, 'x')],
    ['no value', ''],
    ['another form', 'a"b'],
  ])('is refused with %s', async (_case, value) => {
    const reply = await call('GET', '/devices', { Cookie: `other=1; ${cookieName}=${value}` });
    expect(faultOf(reply)).toEqual([401, 'unauthorized']);
  });

  it('deletes a cookie whose session has ended', async () => {
    const { cookie } = await signedIn();
    await app.db.knex('sessions').delete();
    // The change feed of this app is not running.
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    const reply = await call('GET', '/devices', cookie);
    expect(reply.status).toBe(401);
    expect(reply.headers.get('set-cookie')).toMatch(
      new RegExp(`^${cookieName}=; Max-Age=0; Path=/`),
    );
  });

  it('reads what its role may read, and no more', async () => {
    const { cookie } = await signedIn((await newToken(app, 'viewer')).token);
    expect((await call('GET', '/devices', cookie)).status).toBe(200);
    expect(faultOf(await call('GET', '/audit_events', cookie))).toEqual([403, 'forbidden']);
    const tag = { data: { type: 'tags', attributes: { name: 'no' } } };
    const refused = await call('POST', '/tags', { ...cookie, ...CONSOLE }, tag);
    expect(faultOf(refused)).toEqual([403, 'forbidden']);
  });

  it('uses the token when one is sent as well', async () => {
    const { cookie } = await signedIn();
    const Authorization = `Bearer ${(await newToken(app, 'viewer')).token}`;
    const { body } = await call('GET', '/me', { ...cookie, Authorization });
    expect(body.data.attributes).toMatchObject({ name: 'a viewer', session_id: null });
    expect((await call('GET', '/me', { ...cookie, Authorization: 'Bearer no' })).status).toBe(401);
    expect((await call('GET', '/me', { ...cookie, Authorization: 'Token no' })).status).toBe(401);
  });

  it.each<[string, Headers]>([
    ['without the header of the console', {}],
    ['with the header of a background call', { 'X-Muster-Console': 'background' }],
    ['with another value of it', { 'X-Muster-Console': 'true' }],
    ['from another site', { ...CONSOLE, 'Sec-Fetch-Site': 'cross-site' }],
    ['from another host of the site', { ...CONSOLE, 'Sec-Fetch-Site': 'same-site' }],
    ['by a typed address', { ...CONSOLE, 'Sec-Fetch-Site': 'none' }],
    ['from another origin', { ...CONSOLE, Origin: 'https://evil.example.com' }],
    ['from another port', { ...CONSOLE, Origin: 'http://127.0.0.1:1' }],
    [
      'from another origin that claims to be the same',
      { ...CONSOLE, 'Sec-Fetch-Site': 'same-origin', Origin: 'https://evil.example.com' },
    ],
    ['from no origin', { ...CONSOLE, Origin: 'null' }],
  ])('changes nothing %s', async (_case, headers) => {
    const { cookie } = await signedIn();
    const [device] = await app.db.knex('devices').insert({ serial_number: 'S1' }).returning('id');
    const name = `tag ${Math.random()}`;
    const tag = { data: { type: 'tags', attributes: { name } } };
    const refusals = [
      await call('POST', '/tags', { ...cookie, ...headers }, tag),
      await call('PATCH', `/devices/${device.id}`, { ...cookie, ...headers }, {}),
      await call('DELETE', `/devices/${device.id}`, { ...cookie, ...headers }),
      await call('GET', `/devices/${device.id}/clear_passcode`, { ...cookie, ...headers }),
      await call('GET', `/devices/inventory/${device.id}`, { ...cookie, ...headers }),
      await call('POST', `/devices/inventory/${device.id}`, { ...cookie, ...headers }),
      await browser.send('GET', '/dep/certificate/download', { ...cookie, ...headers }),
    ];
    for (const refusal of refusals) {
      expect(faultOf(refusal)).toEqual([403, 'console_header_required']);
    }
    expect(await app.db.knex('tags').where({ name })).toEqual([]);
    expect(await app.db.knex('commands').where({ device_id: device.id })).toEqual([]);
    expect(await app.db.knex('devices').where({ id: device.id })).toHaveLength(1);
    await app.db.knex('devices').where({ id: device.id }).delete();
  });

  it.each<[string, Headers]>([
    ['of an old browser', {}],
    ['of a new one', { 'Sec-Fetch-Site': 'same-origin', Origin: 'http://localhost:8080' }],
    ['without a referrer', { 'Sec-Fetch-Site': 'same-origin', Origin: 'null' }],
    ['of the public address', { Origin: 'http://localhost:8080' }],
  ])('changes what its role may change, from a page %s', async (_case, headers) => {
    const { id, cookie } = await signedIn((await newToken(app, 'operator')).token);
    const name = `tag ${Math.random()}`;
    const tag = { data: { type: 'tags', attributes: { name } } };
    const reply = await call('POST', '/tags', { ...cookie, ...CONSOLE, ...headers }, tag);
    expect(reply.status).toBe(201);
    const event = await app.db
      .knex('audit_events')
      .where({ action: 'tags.create', target_id: String(reply.body.data.id) })
      .first();
    expect(event).toMatchObject({ actor: 'a operator', role: 'operator', session_id: id });
    const shown = await adminApi(app).get(`/audit_events/${event.id}`);
    expect(shown.body.data.attributes).toMatchObject({ actor: 'a operator', session_id: id });
  });

  it('by a program leaves no session in the audit trail', async () => {
    const { body } = await adminApi(app).post('/tags', {
      data: { type: 'tags', attributes: { name: 'of a program' } },
    });
    const events = await app.db
      .knex('audit_events')
      .where({ action: 'tags.create', target_id: String(body.data.id) });
    expect(events).toEqual([expect.objectContaining({ session_id: null })]);
  });
});

describe('GET /me', () => {
  it('is refused without credentials and with parameters', async () => {
    expect((await call('GET', '/me')).status).toBe(401);
    expect((await adminApi(app).get('/me?x=1')).status).toBe(400);
    expect((await adminApi(app).post('/me')).status).toBe(405);
  });

  it('names the token, its role, what it may call, and the session', async () => {
    const { token } = await newToken(app, 'viewer');
    const { id, cookie } = await signedIn(token);
    const { body } = await call('GET', '/me', cookie);
    expect(body).toEqual({
      data: {
        type: 'me',
        id: 1,
        attributes: {
          name: 'a viewer',
          role: 'viewer',
          rights: expect.arrayContaining(['getMe', 'listDevices', 'getDevice', 'createSession']),
          authenticated_at: expect.stringMatching(/\+00:00$/),
          session_id: id,
        },
        links: { self: '/api/v1/me' },
      },
      links: { self: '/api/v1/me' },
      jsonapi: { version: '1.0' },
    });
    expect(body.data.attributes.rights).not.toContain('createTag');
    const bearer = await adminApi(app, token).get('/me');
    expect(bearer.body.data.attributes).toMatchObject({ authenticated_at: null, session_id: null });
    const admin = (await adminApi(app).get('/me')).body.data.attributes.rights;
    expect(admin).toEqual(expect.arrayContaining(['createTag', 'getAuditEvent']));
  });

  it('is 304 while nothing has changed', async () => {
    const first = await adminApi(app).get('/me');
    expect(first.status).toBe(200);
    const again = await adminApi(app).get('/me').set('If-None-Match', String(first.headers.etag));
    expect([again.status, again.text]).toEqual([304, '']);
  });
});
