import { hashPassword } from '../../../src/crypto/secrets/password-hash.js';
import { PUBLIC_URL } from '../../helpers/app.js';
import { until } from '../../jobs/helpers.js';
import {
  type AccountFixture,
  ALICE,
  addUser,
  ask,
  Browser,
  csrfIn,
  PASSWORD,
  signIn,
  startFixture,
  tokenIn,
} from './fixture.js';

let fixture: AccountFixture;

beforeAll(async () => {
  fixture = await startFixture({ isSweeping: false, env: { TRUST_PROXY: '127.0.0.1' } });
});
afterAll(() => fixture.app.stop());
beforeEach(async () => {
  await fixture.app.db.knex('enrollment_users').delete();
});

const WRONG = 'The account or the password is wrong.';
const STALE = 'This page was open for too long, or your browser refuses cookies. Try again.';
const reasonIn = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1];

let addresses = 0;

/** Each has failures of its own. */
function browserElsewhere(address?: string): Browser {
  const browser = new Browser(fixture.app);
  addresses += 1;
  browser.address = address ?? `192.0.2.${addresses}`;
  return browser;
}

async function attempt(fields: Record<string, string>, browser = browserElsewhere()) {
  const { text } = await browser.openLogin('');
  const usual = { csrf: csrfIn(text), account: ALICE, password: PASSWORD };
  return browser.submit({ ...usual, ...fields });
}

describe('the sign-in page', () => {
  it('is a form that works without scripts, and is not cached', async () => {
    const { status, headers, text } = await browserElsewhere().openLogin();
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    expect(text).not.toMatch(/<script|https?:|javascript/i);
    expect(text).toContain('<form method="post" action="login"');
    expect(text).toContain('<html lang="en">');
    expect(text).toContain('autocomplete="current-password"');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'self' apple-remotemanagement-user-login:; frame-ancestors 'none'$/,
    );
  });

  it.each([
    '"><script>alert(1)</script>@example.com',
    "alice'@example.com",
    'alice@example.com\r\nSet-Cookie: a=b',
    `${'a'.repeat(300)}@example.com`,
    'alice',
    '\u202e@example.com',
  ])('shows nothing of an invalid account: %j', async (account) => {
    const reply = await browserElsewhere().openLogin(
      `?user-identifier=${encodeURIComponent(account)}`,
    );
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('name="account" type="email" value=""');
    expect(reply.headers.getSetCookie()).toHaveLength(1);
  });

  it('shows the name of the organization as text', async () => {
    await fixture.app.db
      .knex('organizations')
      .insert({ name: '<b>Ä & "Co"</b>', payload_prefix: 'a' });
    const { text } = await browserElsewhere().openLogin();
    expect(text).toContain('<h1>Sign in to &lt;b&gt;Ä &amp; &quot;Co&quot;&lt;/b&gt;</h1>');
    await fixture.app.db.knex('organizations').delete();
  });

  it('answers HEAD, and other methods with 405', async () => {
    const head = await fetch(`${fixture.app.url}/enroll/account/login`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    const put = await fetch(`${fixture.app.url}/enroll/account/login`, { method: 'PUT' });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    expect(reasonIn(await put.text())).toBe('Use GET or POST.');
  });

  it('has no callback without an identity provider', async () => {
    expect((await browserElsewhere().open(`${PUBLIC_URL}/enroll/account/callback`)).status).toBe(
      404,
    );
  });
});

describe('a sign-in', () => {
  it('is recorded with the user, and in the audit trail', async () => {
    const id = await addUser(fixture.app);
    const { status } = await attempt({ account: ` ${ALICE.toUpperCase()} ` });
    expect(status).toBe(308);
    const [user] = await fixture.app.db.knex('enrollment_users');
    expect(Date.now() - user.last_login_at.getTime()).toBeLessThan(60_000);
    const line = await fixture.app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(line).toMatchObject({
      actor: ALICE,
      role: 'enrollment_user',
      action: 'enrollment_users.sign_in',
      target_type: 'enrollment_users',
      target_id: String(id),
      outcome: 'success',
      source_address: `192.0.2.${addresses}`,
    });
    expect(fixture.app.logText()).not.toContain(PASSWORD);
  });

  it.each<[string, Record<string, string>]>([
    ['a wrong password', { password: 'correct horse batterz' }],
    ['no password', { password: '' }],
    ['a password of a megabyte less', { password: 'x'.repeat(2_000) }],
    ['an unknown account', { account: 'bob@example.com' }],
    ['no account', { account: '' }],
    ['what is no account', { account: "alice' or '1'='1@example.com" }],
  ])('is refused with %s, with the same message', async (_what, fields) => {
    await addUser(fixture.app);
    const reply = await attempt(fields);
    expect([reply.status, reply.location, reasonIn(reply.text)]).toEqual([403, null, WRONG]);
    expect(await fixture.app.db.knex('enrollment_users').pluck('last_login_at')).toEqual([null]);
  });

  it('that is refused is in the audit trail for a user, and not for unknown accounts', async () => {
    const id = await addUser(fixture.app);
    const { knex } = fixture.app.db;
    const lines = () => knex('audit_events').where({ target_id: String(id) });
    const refused = { account: 'bob@example.com', password: 'wrong' };
    const before = await knex('audit_events').count('id as count').first();
    expect((await attempt(refused)).status).toBe(403);
    expect((await attempt({ password: 'wrong' })).status).toBe(403);
    await until(async () => (await lines()).length > 0);
    expect(await lines()).toMatchObject([
      {
        actor: ALICE,
        role: 'enrollment_user',
        action: 'enrollment_users.sign_in',
        target_type: 'enrollment_users',
        outcome: 'refused',
        details: { account: ALICE, is_disabled: false },
        source_address: `192.0.2.${addresses}`,
      },
    ]);
    const after = await knex('audit_events').count('id as count').first();
    expect(Number(after?.count) - Number(before?.count)).toBe(1);
  });

  it('takes as long for an unknown account as for a wrong password', async () => {
    await addUser(fixture.app, { password_hash: await hashPassword(PASSWORD) });
    const fastest = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 8; round += 1) {
      for (const kind of ['known', 'unknown'] as const) {
        const account = kind === 'known' ? ALICE : 'bob@example.com';
        const start = performance.now();
        await attempt({ account, password: 'wrong' });
        fastest[kind] = Math.min(fastest[kind], performance.now() - start);
      }
    }
    expect(fastest.unknown / fastest.known).toBeGreaterThan(0.5);
    expect(fastest.unknown / fastest.known).toBeLessThan(2);
  });

  it('reports a disabled account only to a user who knows the password', async () => {
    const id = await addUser(fixture.app, { is_disabled: true });
    expect(reasonIn((await attempt({ password: 'wrong' })).text)).toBe(WRONG);
    const reply = await attempt({});
    expect([reply.status, reply.location, reasonIn(reply.text)]).toEqual([
      403,
      null,
      'This account may not enroll devices.',
    ]);
    const target_id = String(id);
    const lines = () => fixture.app.db.knex('audit_events').where({ target_id });
    await until(async () => (await lines()).length === 2);
    expect((await lines()).map(({ outcome }) => outcome)).toEqual(['refused', 'refused']);
    const said = fixture.app.logLines.findLast(({ msg }) => msg === 'device request refused');
    expect(said).toMatchObject({ status: 403, account: ALICE });
  });

  it.each<[string, Record<string, string>, boolean]>([
    ['no CSRF token', { csrf: '' }, true],
    ['that of another', { csrf: 'x'.repeat(43) }, true],
    ['no cookie', {}, false],
  ])('is refused with %s, and the form is shown again', async (_what, fields, hasCookie) => {
    await addUser(fixture.app);
    const browser = browserElsewhere();
    const { text } = await browser.openLogin();
    const csrf = csrfIn(text);
    if (!hasCookie) browser.forget();
    const reply = await browser.submit({ csrf, account: ALICE, password: PASSWORD, ...fields });
    expect([reply.status, reply.location, reasonIn(reply.text)]).toEqual([403, null, STALE]);
    const again = { csrf: csrfIn(reply.text), account: ALICE, password: PASSWORD };
    expect((await browser.submit(again)).status).toBe(308);
  });

  it('is refused with the CSRF token of another browser', async () => {
    await addUser(fixture.app);
    const { text } = await browserElsewhere().openLogin();
    const browser = browserElsewhere();
    await browser.openLogin();
    const reply = await browser.submit({ csrf: csrfIn(text), account: ALICE, password: PASSWORD });
    expect([reply.status, reasonIn(reply.text)]).toEqual([403, STALE]);
  });

  it('refuses a form of many kilobytes', async () => {
    const reply = await attempt({ password: 'x'.repeat(10_000) });
    expect([reply.status, reply.location]).toEqual([413, null]);
  });

  it('never returns the same token twice: each has a nonce of its own', async () => {
    await addUser(fixture.app);
    const tokens = [await signIn(fixture.app), await signIn(fixture.app)].map(({ location }) =>
      tokenIn(location),
    );
    expect(tokens[0]).not.toBe(tokens[1]);
    for (const token of tokens) expect((await ask(fixture, { token })).status).toBe(200);
    expect(await fixture.app.db.knex('enrollment_requests')).toHaveLength(2);
  });
});

describe('too many wrong passwords', () => {
  /** All at once, which is no way around. Returns how often there was which status. */
  async function failAtOnce(each: (index: number) => Parameters<typeof attempt>) {
    const replies = await Promise.all(
      Array.from({ length: 22 }, (_, index) => attempt(...each(index))),
    );
    const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length;
    return { 403: count(403), 429: count(429) };
  }

  it('from one address block it, and no other', async () => {
    await addUser(fixture.app);
    // The last four are unknown; what refuses one costs as much as the product's own hashes.
    for (let index = 0; index < 18; index += 1) {
      await addUser(fixture.app, { account: `user${index}@example.com` });
    }
    const address = '198.51.100.7';
    const counts = await failAtOnce((index) => [
      { account: `user${index}@example.com`, password: 'wrong' },
      browserElsewhere(address),
    ]);
    expect(counts).toEqual({ 403: 20, 429: 2 });
    const refused = await attempt({}, browserElsewhere(address));
    expect([refused.status, refused.location]).toEqual([429, null]);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(refused.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect((await attempt({})).status).toBe(308);
  });

  it('for one account block addresses that failed before; right passwords do not count', async () => {
    const account = 'carol@example.com';
    await addUser(fixture.app, { account });
    await addUser(fixture.app, { account: 'dave@example.com' });
    expect((await attempt({ account })).status).toBe(308);
    const mistaken = '198.51.100.9';
    const wrong = { account, password: 'wrong' };
    expect((await attempt(wrong, browserElsewhere(mistaken))).status).toBe(403);
    expect(await failAtOnce(() => [wrong])).toEqual({ 403: 22, 429: 0 });
    const shouted = { account: account.toUpperCase() };
    expect((await attempt(shouted, browserElsewhere(mistaken))).status).toBe(429);
    const other = { account: 'dave@example.com' };
    expect((await attempt(other, browserElsewhere(mistaken))).status).toBe(308);
  });

  it('for one account do not block its owner at another address, who has one attempt', async () => {
    const account = 'erin@example.com';
    await addUser(fixture.app, { account });
    await failAtOnce(() => [{ account, password: 'wrong' }]);
    const home = '198.51.100.10';
    for (const _each of [1, 2]) {
      expect((await attempt({ account }, browserElsewhere(home))).status).toBe(308);
    }
    const wrong = { account, password: 'wrong' };
    expect((await attempt(wrong, browserElsewhere(home))).status).toBe(403);
    expect((await attempt({ account }, browserElsewhere(home))).status).toBe(429);
  });
});
