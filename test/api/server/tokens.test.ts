import { setTimeout as sleep } from 'node:timers/promises';
import { formatTimestamp } from '../../../src/jsonapi/definition/values.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { browserOf, CONSOLE, faultOf, newToken } from './session-browser.js';

let app: TestApp;
let browser: ReturnType<typeof browserOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false, env: { PUBLIC_URL: 'http://localhost:8080' } });
  browser = browserOf(app);
});
afterAll(() => app.stop());
afterEach(() => app.db.knex('tokens').delete());

const statusOf = async (token: string) => (await adminApi(app, token).get('/me')).status;
const revokedAt = async (id: number) =>
  (await app.db.knex('tokens').where({ id }).first('revoked_at')).revoked_at;

describe('the list of API tokens', () => {
  it('shows the attributes of each to admins, and nothing of its secret', async () => {
    const until = new Date(Date.now() + 3_600_000);
    const one = await newToken(app, 'viewer', until);
    const admin = await newToken(app, 'admin');
    const { status, body } = await adminApi(app, admin.token).get('/tokens');
    expect([status, body.meta]).toEqual([200, { count: 2, total: 2 }]);
    expect(body.data[0]).toEqual({
      type: 'tokens',
      id: one.row.id,
      attributes: {
        name: 'a viewer',
        role: 'viewer',
        created_at: formatTimestamp(one.row.created_at),
        expires_at: formatTimestamp(until),
        last_used_at: null,
        revoked_at: null,
        is_current: false,
      },
      links: { self: `/api/v1/tokens/${one.row.id}` },
    });
    expect(body.data[1].attributes).toMatchObject({ role: 'admin', is_current: true });
    const filtered = await adminApi(app).get('/tokens?filter[token_hash]=x');
    expect(filtered.status).toBe(400);
  });

  it('requires the role admin', async () => {
    const { row, token } = await newToken(app, 'operator');
    for (const path of ['/tokens', `/tokens/${row.id}`]) {
      const { status, body } = await adminApi(app, token).get(path);
      expect([path, status, body.errors[0].code]).toEqual([path, 403, 'forbidden']);
    }
  });

  it('allows neither create, update nor delete', async () => {
    const { row } = await newToken(app, 'viewer');
    const data = { type: 'tokens', attributes: { name: 'x', role: 'admin' } };
    expect((await adminApi(app).post('/tokens', { data })).status).toBe(405);
    expect((await adminApi(app).delete(`/tokens/${row.id}`)).status).toBe(405);
  });
});

describe('the revocation of an API token', () => {
  it('is refused to other roles, which is audited', async () => {
    const { row } = await newToken(app, 'viewer');
    const { token } = await newToken(app, 'operator');
    const { status, body } = await adminApi(app, token).post(`/tokens/${row.id}/revoke`, {});
    expect([status, body.errors[0].code]).toEqual([403, 'forbidden']);
    expect(await revokedAt(row.id)).toBeNull();
    const [event] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect(event).toMatchObject({
      action: 'tokens.revoke',
      target_id: String(row.id),
      outcome: 'refused',
    });
  });

  it('is refused for an unknown token', async () => {
    for (const id of ['999999', 'x']) {
      const { status, body } = await adminApi(app).post(`/tokens/${id}/revoke`, {});
      expect([id, status, body.errors[0].code]).toEqual([id, 404, 'not_found']);
    }
  });

  it('is refused for the token of the request itself, and by a session of it', async () => {
    const { row, token } = await newToken(app, 'admin');
    const own = await adminApi(app, token).post(`/tokens/${row.id}/revoke`, {});
    expect([own.status, own.body.errors[0]]).toMatchObject([
      409,
      {
        code: 'in_use',
        detail: `token ${row.id} is the one that you use: revoke it with another token, or by \`muster token revoke ${row.id}\``,
      },
    ]);
    const { cookie } = await browser.signedIn(token);
    const path = `/tokens/${row.id}/revoke`;
    const reply = await browser.call('POST', path, { ...cookie, ...CONSOLE });
    expect(faultOf(reply)).toEqual([409, 'in_use']);
    expect(await statusOf(token)).toBe(200);
  });

  it('needs a sign-in of the last 15 minutes', async () => {
    const { row } = await newToken(app, 'viewer');
    const { id, cookie } = await browser.signedIn();
    await app.db
      .knex('sessions')
      .where({ id })
      .update({ authenticated_at: new Date(Date.now() - 16 * 60_000) });
    const path = `/tokens/${row.id}/revoke`;
    const reply = await browser.call('POST', path, { ...cookie, ...CONSOLE });
    expect(faultOf(reply)).toEqual([403, 'reauthentication_required']);
    expect(await revokedAt(row.id)).toBeNull();
  });

  it('ends the token and its sessions at once, and is audited', async () => {
    const { row, token } = await newToken(app, 'operator');
    const other = await newToken(app, 'operator');
    const { cookie } = await browser.signedIn(token);
    expect(await statusOf(token)).toBe(200);
    expect((await browser.call('GET', '/me', cookie)).status).toBe(200);
    const { status, body } = await adminApi(app).post(`/tokens/${row.id}/revoke`, {});
    expect([status, body.data.id]).toEqual([200, row.id]);
    expect(body.data.attributes.revoked_at).toBe(formatTimestamp(await revokedAt(row.id)));
    expect(await statusOf(token)).toBe(401);
    expect((await browser.call('GET', '/me', cookie)).status).toBe(401);
    expect(await app.db.knex('sessions').where({ token_id: row.id })).toEqual([]);
    expect(await statusOf(other.token)).toBe(200);
    const [event] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect(event).toMatchObject({
      action: 'tokens.revoke',
      actor: 'ADMIN_TOKEN',
      target_type: 'tokens',
      target_id: String(row.id),
      outcome: 'success',
      details: { name: 'a operator', role: 'operator' },
    });
  });

  it('does not change a token that was revoked before', async () => {
    const { row } = await newToken(app, 'viewer');
    await adminApi(app).post(`/tokens/${row.id}/revoke`, {});
    const before = await revokedAt(row.id);
    const { status, body } = await adminApi(app).post(`/tokens/${row.id}/revoke`, {});
    expect([status, body.data.attributes.revoked_at]).toEqual([200, formatTimestamp(before)]);
    const [event] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect(event.details).toEqual({ already_revoked: true });
  });

  it('is known to another process of the same database within a second', async () => {
    const { row, token } = await newToken(app, 'viewer');
    const other = await startApp({ isSweeping: false, database: app.database });
    const statusThere = async () => (await adminApi(other, token).get('/me')).status;
    expect(await statusThere()).toBe(200);
    await adminApi(app).post(`/tokens/${row.id}/revoke`, {});
    const until = Date.now() + 1_000;
    let status = 200;
    while (status === 200 && Date.now() < until) {
      // Requests without a pause would keep the process from what it is to learn.
      await sleep(20);
      status = await statusThere();
    }
    expect(status).toBe(401);
    expect((await adminApi(other, ADMIN_TOKEN).get(`/tokens/${row.id}`)).status).toBe(200);
    await other.halt();
  });
});
