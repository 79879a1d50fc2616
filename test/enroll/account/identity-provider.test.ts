import { join } from 'node:path';
import { PUBLIC_URL, type TestApp } from '../../helpers/app.js';
import { type Child, killChildren, startTypeScript } from '../../helpers/child-process.js';
import {
  type AccountFixture,
  ALICE,
  addUser,
  ask,
  Browser,
  discover,
  startFixture,
  tokenIn,
} from './fixture.js';

const CALLBACK = `${PUBLIC_URL}/enroll/account/callback`;

let child: Child;
let issuer: string;
let fixture: AccountFixture;

beforeAll(async () => {
  child = startTypeScript(join(__dirname, '../../helpers/identity-provider.mjs'), [CALLBACK]);
  issuer = await child.line('issuer ');
  fixture = await startFixture({ env: environment(), isSweeping: false });
});
afterAll(async () => {
  await fixture.app.stop();
  killChildren();
});
afterEach(async () => {
  for (const { app } of others.splice(0)) await app.stop();
});
beforeEach(async () => {
  for (const table of ['enrollment_requests', 'enrollment_users']) {
    await fixture.app.db.knex(table).delete();
  }
});

const others: AccountFixture[] = [];

async function startOther(env: Record<string, string>): Promise<AccountFixture> {
  const other = await startFixture({ env, isSweeping: false });
  others.push(other);
  return other;
}

function environment(more: Record<string, string> = {}): Record<string, string> {
  return {
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: 'muster',
    OIDC_CLIENT_SECRET: 'secret-of-the-client',
    ...more,
  };
}

/** To where the provider sends the browser back; undefined cookies are kept. */
async function callbackOf(app: TestApp, account = ALICE) {
  const browser = new Browser(app);
  let reply = await browser.openLogin(`?user-identifier=${encodeURIComponent(account)}`);
  for (let hop = 0; hop < 6 && reply.location !== null; hop += 1) {
    const next = new URL(reply.location, issuer).href;
    if (next.startsWith(CALLBACK)) return { browser, url: next };
    reply = await browser.open(next);
  }
  throw new Error(`the provider answered ${reply.status}: ${reply.text}`);
}

async function signIn(account?: string, app = fixture.app) {
  const { browser, url } = await callbackOf(app, account);
  return browser.open(url);
}

const reasonIn = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1];

describe('the sign-in at an identity provider', () => {
  it('ends with a token for the account, and a profile for it', async () => {
    const found = await discover(fixture.app, `?user-identifier=${ALICE}`);
    expect(found.status).toBe(200);
    const { browser, url } = await callbackOf(fixture.app);
    const { searchParams } = new URL(url);
    expect([...searchParams.keys()]).toEqual(['code', 'state', 'iss']);
    const answer = await browser.open(url);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([308, 'no-store']);
    const reply = await ask(fixture, { token: tokenIn(answer.location) });
    expect(reply.status).toBe(200);
    const [request] = await fixture.app.db.knex('enrollment_requests');
    expect(request).toMatchObject({ method: 'account_user', account: ALICE });
  });

  it('sends PKCE, state and nonce, which differ each time', async () => {
    const asked = await Promise.all(
      [1, 2].map(async () => {
        const { location } = await new Browser(fixture.app).openLogin();
        return Object.fromEntries(new URL(location ?? '').searchParams);
      }),
    );
    for (const query of asked) {
      expect(query).toEqual({
        client_id: 'muster',
        response_type: 'code',
        redirect_uri: CALLBACK,
        scope: 'openid email profile',
        login_hint: ALICE,
        code_challenge_method: 'S256',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        state: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
      });
    }
    for (const name of ['code_challenge', 'state', 'nonce']) {
      expect(asked[0]?.[name]).not.toBe(asked[1]?.[name]);
    }
  });

  it('hides its cookie from scripts and other sites', async () => {
    const { headers } = await new Browser(fixture.app).openLogin();
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^muster_sign_in=[\w.-]+; Max-Age=900; Path=\/enroll\/account; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ]);
  });

  it.each([['in another browser', (browser: Browser) => browser.forget()]])(
    'is refused %s',
    async (_where, change) => {
      const { browser, url } = await callbackOf(fixture.app);
      change(browser);
      const answer = await browser.open(url);
      expect([answer.status, answer.location]).toEqual([403, null]);
      expect(reasonIn(answer.text)).toBe('The sign-in took too long, start again on your device.');
    },
  );

  it('is refused with the answer to another sign-in', async () => {
    const [one, other] = [
      await callbackOf(fixture.app),
      await callbackOf(fixture.app, 'eve@evil.com'),
    ];
    const answer = await one.browser.open(other.url);
    expect([answer.status, answer.location]).toEqual([403, null]);
    expect(reasonIn(answer.text)).toMatch(/^The answer of the sign-in service is not valid/);
  });

  it.each<[string, (url: URL) => void]>([
    ['a changed state', (url) => url.searchParams.set('state', 'x'.repeat(43))],
    ['no state', (url) => url.searchParams.delete('state')],
    ['a made-up code', (url) => url.searchParams.set('code', 'guessed')],
    ['two codes', (url) => url.searchParams.append('code', 'guessed')],
    ['another issuer', (url) => url.searchParams.set('iss', 'https://evil.example.com')],
    ['no issuer', (url) => url.searchParams.delete('iss')],
    ['nothing at all', (url) => (url.search = '')],
  ])('is refused with %s', async (_what, change) => {
    const { browser, url } = await callbackOf(fixture.app);
    const changed = new URL(url);
    change(changed);
    const answer = await browser.open(changed.href);
    expect([answer.status, answer.location]).toEqual([403, null]);
    expect(reasonIn(answer.text)).toMatch(/^The answer of the sign-in service is not valid/);
    expect((await browser.open(url)).status).toBe(403);
  });

  it('is redeemed once', async () => {
    const { browser, url } = await callbackOf(fixture.app);
    expect((await browser.open(url)).status).toBe(308);
    expect((await browser.open(url)).status).toBe(403);
  });

  it.each([
    ['cancelling@example.com', 'The sign-in was cancelled.'],
    ['unverified@example.com', 'The e-mail address of your account is not verified.'],
    [
      'nobody@example.com',
      'The answer of the sign-in service is not valid, start again on your device.',
    ],
  ])('of %s is refused: %s', async (account, reason) => {
    const answer = await signIn(account);
    expect([answer.status, answer.location, reasonIn(answer.text)]).toEqual([403, null, reason]);
  });

  it('accepts an email address when the provider does not say whether it is verified', async () => {
    expect((await signIn('silent@example.com')).status).toBe(308);
  });

  it('follows the record of a user: its mode, and that it is disabled', async () => {
    await addUser(fixture.app, { enrollment_mode: 'adde' });
    const token = tokenIn((await signIn()).location);
    expect((await ask(fixture, { token, mode: 'byod' })).status).toBe(403);
    expect((await ask(fixture, { token, mode: 'adde' })).status).toBe(200);
    await fixture.app.db.knex('enrollment_users').update({ is_disabled: true });
    const answer = await signIn();
    expect(reasonIn(answer.text)).toBe('This account may not enroll devices.');
  });

  it('reads the account from the configured claim', async () => {
    const env = environment({ OIDC_ACCOUNT_CLAIM: 'upn', ACCOUNT_ENROLLMENT: 'adde' });
    const other = await startOther(env);
    const answer = await signIn('unverified@example.com', other.app);
    const reply = await ask(other, { token: tokenIn(answer.location), mode: 'adde' });
    expect(reply.status).toBe(200);
    const [request] = await other.app.db.knex('enrollment_requests');
    expect(request).toMatchObject({
      method: 'account_device',
      account: 'upn-756e7665@example.com',
    });
  });

  it('logs the reason, and no secret', async () => {
    const { browser, url } = await callbackOf(fixture.app);
    const code = new URL(url).searchParams.get('code') ?? '';
    await browser.open(url);
    expect(fixture.app.logText()).not.toContain(code);
    expect(fixture.app.logText()).not.toContain('secret-of-the-client');
    await signIn('cancelling@example.com');
    expect(fixture.app.logText()).toContain('access_denied the <b>user</b> said no');
  });
});

describe('an identity provider that cannot be used', () => {
  it.each([
    ['is away', { OIDC_ISSUER: 'http://127.0.0.1:9' }],
    ['goes by another name', () => ({ OIDC_ISSUER: issuer.replace('127.0.0.1', 'localhost') })],
    ['is another server', () => ({ OIDC_ISSUER: `${issuer}/nothing` })],
  ])('%s: 503, which the page says', async (_what, given) => {
    const env = environment(typeof given === 'function' ? given() : given);
    const other = await startOther(env);
    const answer = await new Browser(other.app).openLogin();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    expect(reasonIn(answer.text)).toBe(
      'The sign-in service of your organization cannot be reached, try again later.',
    );
  });

  it('rejects the client secret: the callback is answered 503, and the log says why', async () => {
    const env = environment({ OIDC_CLIENT_SECRET: 'mistyped' });
    const other = await startOther(env);
    const answer = await signIn(ALICE, other.app);
    expect(answer.status).toBe(503);
    expect(other.app.logText()).toContain(
      'the provider does not know this server, it answered 401',
    );
  });
});
