import { type AccountFixture, ALICE, addUser, discover, startFixture } from './fixture.js';

let fixture: AccountFixture;

beforeAll(async () => {
  fixture = await startFixture({ isSweeping: false });
});
afterAll(() => fixture.app.stop());
beforeEach(() => fixture.app.db.knex('enrollment_users').delete());

describe('discovery', () => {
  const FAILED = { code: 'com.apple.well-known.failed', description: expect.any(String) };

  it('fails, as Apple specifies, while nobody could sign in', async () => {
    await addUser(fixture.app, { is_disabled: true });
    const reply = await discover(fixture.app, `?user-identifier=${ALICE}&model-family=Mac`);
    expect([reply.status, reply.headers.get('content-type'), await reply.json()]).toEqual([
      403,
      'application/json',
      { ...FAILED, description: 'no user may enroll devices with an account yet' },
    ]);
  });

  it('answers with the mode of the user', async () => {
    await addUser(fixture.app, { enrollment_mode: 'adde' });
    const reply = await discover(fixture.app, `?user-identifier=${ALICE.toUpperCase()}`);
    expect(await reply.json()).toMatchObject({ Servers: [{ Version: 'mdm-adde' }] });
  });

  it('answers alike for existing, disabled and unknown accounts', async () => {
    await addUser(fixture.app);
    await addUser(fixture.app, { account: 'off@example.com', is_disabled: true });
    for (const account of [ALICE, 'off@example.com', 'nobody@example.com', '']) {
      const reply = await discover(fixture.app, `?user-identifier=${account}&model-family=iPad`);
      expect([reply.status, reply.headers.get('content-type'), await reply.json()]).toEqual([
        200,
        'application/json',
        {
          Servers: [
            {
              Version: 'mdm-byod',
              BaseURL: 'https://mdm.example.com/enroll/account?mode=byod',
            },
          ],
        },
      ]);
    }
  });

  it.each([
    'alice',
    'a@b@c',
    `${'a'.repeat(400)}@example.com`,
    'a\r\nX-Evil: 1@example.com',
    '<script>@example.com',
    '\u0000@example.com',
  ])('fails for an invalid account, and does not repeat it: %j', async (account) => {
    await addUser(fixture.app);
    const reply = await discover(fixture.app, `?user-identifier=${encodeURIComponent(account)}`);
    expect([reply.status, await reply.json()]).toEqual([
      403,
      { ...FAILED, description: 'the account has to be of the form name@example.com' },
    ]);
    expect(reply.headers.get('x-evil')).toBeNull();
  });

  it.each(['AppleTV', 'Watch'])(
    'fails for a device that does not support accounts: %s',
    async (family) => {
      await addUser(fixture.app);
      const reply = await discover(fixture.app, `?user-identifier=${ALICE}&model-family=${family}`);
      expect([reply.status, await reply.json()]).toEqual([403, FAILED]);
    },
  );

  it('answers HEAD, and other methods with 405', async () => {
    await addUser(fixture.app);
    const path = `${fixture.app.url}/.well-known/com.apple.remotemanagement`;
    expect((await fetch(path, { method: 'HEAD' })).status).toBe(200);
    const post = await fetch(path, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
