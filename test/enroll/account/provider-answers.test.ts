import { PUBLIC_URL } from '../../helpers/app.js';
import { type FalseProvider, startFalseProvider } from './false-provider.js';
import { type AccountFixture, Browser, startFixture, tokenIn } from './fixture.js';

let provider: FalseProvider;
let fixture: AccountFixture;

beforeAll(async () => {
  provider = await startFalseProvider();
  fixture = await startFixture({
    isSweeping: false,
    env: {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: 'muster',
      OIDC_CLIENT_SECRET: 'secret-of-the-client',
    },
  });
});
afterAll(async () => {
  await fixture.app.stop();
  await provider.close();
});
beforeEach(() => {
  Object.assign(provider, { claims: {}, header: {}, hasOtherKey: false, answer: undefined });
});

/** There and back, with the nonce that was asked for unless the test set another. */
async function signIn(query: Record<string, string> = { code: 'good' }) {
  const browser = new Browser(fixture.app);
  const { location } = await browser.openLogin();
  const { searchParams } = new URL(location ?? '');
  provider.claims = { nonce: searchParams.get('nonce'), ...provider.claims };
  const state = searchParams.get('state') ?? '';
  const back = new URLSearchParams({ state, ...query });
  return browser.open(`${PUBLIC_URL}/enroll/account/callback?${back}`);
}

const reasonIn = (html: string) => /role="alert">([^<]*)</.exec(html)?.[1];
const INVALID = 'The answer of the sign-in service is not valid, start again on your device.';
const AWAY = 'The sign-in service of your organization cannot be reached, try again later.';

describe('the answer of an identity provider', () => {
  it('results in a token when it is valid; its metadata is fetched once', async () => {
    for (let time = 0; time < 2; time += 1) {
      provider.claims = {};
      expect(tokenIn((await signIn()).location)).toMatch(/^[\w-]+\.[\w-]+$/);
    }
    expect(provider.asked['/.well-known/openid-configuration']).toBe(1);
    const { authorization, body } = provider.lastGrant;
    const basic = Buffer.from('muster:secret-of-the-client').toString('base64');
    expect(authorization?.startsWith('Basic ')).toBe(true);
    const given = Buffer.from((authorization ?? '').slice(6), 'base64').toString();
    expect(decodeURIComponent(given)).toBe(Buffer.from(basic, 'base64').toString());
    expect(Object.fromEntries(body)).toEqual({
      grant_type: 'authorization_code',
      code: 'good',
      redirect_uri: `${PUBLIC_URL}/enroll/account/callback`,
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  const past = () => Math.floor(Date.now() / 1000) - 3600;
  it.each<[string, Partial<FalseProvider>]>([
    ['is signed by another key', { hasOtherKey: true }],
    ['is not signed', { header: { alg: 'none' } }],
    ['is signed with our own secret', { header: { alg: 'HS256' } }],
    ['is of a key it does not show', { header: { kid: 'two' } }],
    ['is of another issuer', { claims: { iss: 'https://evil.example.com' } }],
    ['is for another client', { claims: { aud: 'other' } }],
    ['is for another client too', { claims: { aud: ['muster', 'other'], azp: 'other' } }],
    ['has expired', { claims: { exp: past(), iat: past() } }],
    ['is the answer to another request', { claims: { nonce: 'another' } }],
    ['has no nonce', { claims: { nonce: undefined } }],
    ['has no account', { claims: { email: undefined } }],
    ['has an account that is not text', { claims: { email: ['alice@example.com'] } }],
    ['has what is no account', { claims: { email: 'alice' } }],
    ['has a line in the account', { claims: { email: 'alice@example.com\r\nX: y' } }],
    ['says that the address is not verified', { claims: { email_verified: 'false' } }],
  ])('whose ID token %s is refused', async (_what, fault) => {
    Object.assign(provider, fault);
    const reply = await signIn();
    expect([reply.status, reply.location]).toEqual([403, null]);
    expect(reply.headers.get('x')).toBeNull();
  });

  it.each<[string, string, number, string]>([
    ['{"error":"invalid_grant"}', 'application/json', 400, INVALID],
    ['{"error":"invalid_client"}', 'application/json', 400, AWAY],
    ['{"access_token":"a","token_type":"Bearer"}', 'application/json', 200, INVALID],
    ['<h1>Sorry</h1>', 'text/html', 500, AWAY],
    ['<h1>Hello</h1>', 'text/html', 200, AWAY],
    ['{"access_token":', 'application/json', 200, AWAY],
    ['', 'application/json', 503, AWAY],
  ])(
    'to the code, %s as %s with %i, is shown with a message of ours',
    async (body, type, status, reason) => {
      provider.answer = { status, type, body };
      const reply = await signIn();
      expect([reply.status, reply.location]).toEqual([reason === AWAY ? 503 : 403, null]);
      expect(reasonIn(reply.text)).toBe(reason);
    },
  );

  it.each([
    ['access_denied', 'The sign-in was cancelled.'],
    ['server_error', INVALID],
    ['<script>alert(1)</script>', INVALID],
  ])('that is the error %s is shown with a message of ours', async (error, reason) => {
    const reply = await signIn({ error, error_description: '<img src=x>' });
    expect([reply.status, reasonIn(reply.text)]).toEqual([403, reason]);
    expect(reply.text).not.toMatch(/<script|<img/);
  });
});
