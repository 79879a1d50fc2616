import { revokeToken } from '../../../src/auth/api-tokens.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  browserOf,
  CONSOLE,
  CONTEXT,
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
const signedIn: typeof browser.signedIn = (token) => browser.signedIn(token);

describe('the list of sessions', () => {
  it('shows those of the same token, and all of them to an admin', async () => {
    const [one, other] = [await newToken(app, 'operator'), await newToken(app, 'operator')];
    const first = await signedIn(one.token);
    const second = await signedIn(one.token);
    const foreign = await signedIn(other.token);
    const own = await call('GET', '/sessions', second.cookie);
    const seen = own.body.data.map(({ id, attributes }: { id: number; attributes: Headers }) => [
      id,
      attributes.is_current,
    ]);
    expect(seen).toEqual([
      [first.id, false],
      [second.id, true],
    ]);
    expect(own.body.meta).toEqual({ count: 2, total: 2 });
    expect((await call('GET', `/sessions/${first.id}`, second.cookie)).status).toBe(200);
    const hidden = await call('GET', `/sessions/${foreign.id}`, second.cookie);
    expect(faultOf(hidden)).toEqual([404, 'not_found']);
    const filtered = await call('GET', '/sessions?filter[name]=a operator', second.cookie);
    expect(filtered.body.meta.total).toBe(2);
    const all = await adminApi(app).get('/sessions?sort=-id');
    expect(all.body.data.map(({ id }: { id: number }) => id)).toEqual([
      foreign.id,
      second.id,
      first.id,
    ]);
    expect(all.body.data[0].attributes.is_current).toBe(false);
    expect((await call('GET', '/sessions')).status).toBe(401);
  });
});

describe('the end of a session', () => {
  it('is possible by the session itself, and deletes the cookie', async () => {
    const { id, cookie } = await signedIn();
    const refused = await call('DELETE', `/sessions/${id}`, cookie);
    expect(faultOf(refused)).toEqual([403, 'console_header_required']);
    const reply = await call('DELETE', `/sessions/${id}`, { ...cookie, ...CONSOLE });
    expect([reply.status, reply.body]).toEqual([204, undefined]);
    expect(reply.headers.get('set-cookie')).toMatch(new RegExp(`^${cookieName}=; Max-Age=0`));
    expect((await call('GET', '/me', cookie)).status).toBe(401);
    const [event] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect(event).toMatchObject({
      action: 'sessions.delete',
      target_id: String(id),
      session_id: id,
    });
    const again = await adminApi(app).delete(`/sessions/${id}`);
    expect([again.status, again.body.errors[0].code]).toEqual([404, 'not_found']);
  });

  it('is possible by an admin or the same token, and by no other', async () => {
    const { token } = await newToken(app, 'operator');
    const other = await newToken(app, 'operator');
    const first = await signedIn(token);
    const second = await signedIn(token);
    const foreign = await adminApi(app, other.token).delete(`/sessions/${first.id}`);
    expect(foreign.status).toBe(404);
    const own = await call('DELETE', `/sessions/${first.id}`, { ...second.cookie, ...CONSOLE });
    expect([own.status, own.headers.get('set-cookie')]).toEqual([204, null]);
    expect((await call('GET', '/me', first.cookie)).status).toBe(401);
    expect((await adminApi(app).delete(`/sessions/${second.id}`)).status).toBe(204);
    expect((await call('GET', '/me', second.cookie)).status).toBe(401);
    expect((await adminApi(app).delete('/sessions/x')).status).toBe(404);
    expect((await call('DELETE', '/sessions/1')).status).toBe(401);
  });

  it.each<[string, (id: number, tokenId: number) => Promise<unknown>]>([
    ['its token is revoked', (_id, tokenId) => revokeToken(app.db, { id: tokenId }, CONTEXT)],
    [
      'its token expires',
      (_id, id) =>
        app.db
          .knex('tokens')
          .where({ id })
          .update({ expires_at: new Date(0) }),
    ],
    ['nobody used it', (id) => changeSession(id, { idle_ends_at: new Date(0) })],
    ['it has lasted for too long', (id) => changeSession(id, { ends_at: new Date(0) })],
  ])('follows when %s', async (_case, end) => {
    const { row, token } = await newToken(app, 'operator');
    const { id, cookie } = await signedIn(token);
    expect((await call('GET', '/me', cookie)).status).toBe(200);
    await end(id, row.id);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await call('GET', '/me', cookie)).status).toBe(401);
    expect((await adminApi(app).get(`/sessions/${id}`)).status).toBe(404);
  });

  function changeSession(id: number, values: object) {
    return app.db.knex('sessions').where({ id }).update(values);
  }

  it('follows when the server starts with another ADMIN_TOKEN', async () => {
    const database = app.database;
    const { cookie } = await signedIn();
    const next = await startApp({
      isSweeping: false,
      database,
      env: { PUBLIC_URL: 'http://localhost:8080', ADMIN_TOKEN: 'another-admin-token' },
    });
    const port = new URL(next.url).port;
    const Cookie = `muster_session_${port}=${cookie.Cookie?.split('=')[1]}`;
    expect((await fetch(`${next.url}/api/v1/me`, { headers: { Cookie } })).status).toBe(401);
    await next.halt();
  });

  it('is postponed by requests of a person, and not by background requests of the console', async () => {
    const other = await startApp({
      isSweeping: false,
      env: { SESSION_IDLE: '1h', SESSION_MAX: '2h' },
    });
    const post = await fetch(`${other.url}/api/v1/sessions`, {
      method: 'POST',
      headers: { 'Content-Type': DOCUMENT },
      body: JSON.stringify({ data: { type: 'sessions', attributes: { token: ADMIN_TOKEN } } }),
    });
    const Cookie = (post.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const [before] = await other.db.knex('sessions');
    expect(before.idle_ends_at - before.created_at).toBe(HOUR_MS);
    expect(before.ends_at - before.created_at).toBe(2 * HOUR_MS);
    const get = (headers: Headers) =>
      fetch(`${other.url}/api/v1/me`, { headers: { Cookie, ...headers } });
    expect((await get({ 'X-Muster-Console': 'background' })).status).toBe(200);
    await other.container.stop();
    expect(await other.db.knex('sessions')).toEqual([before]);
    expect((await get({})).status).toBe(200);
    await other.halt();
    const [after] = await other.db.knex('sessions');
    expect(after.last_used_at.getTime()).toBeGreaterThan(before.last_used_at.getTime());
    expect(after.idle_ends_at - after.last_used_at).toBe(HOUR_MS);
    expect(after.ends_at).toEqual(before.ends_at);
    await other.database.drop();
  });
});
