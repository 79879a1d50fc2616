import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { AccessTokens } from '../../../src/enroll/account/access-token.js';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { asAuthority, ecIdentity, type Identity } from '../../crypto/identities.js';
import { signedBy } from '../../dep/asking-device.js';
import { deviceKeys, issueIdentity } from '../../helpers/device.js';
import {
  type AccountFixture,
  ALICE,
  ANONYMOUS,
  addUser,
  ask,
  Browser,
  discover,
  MACHINE,
  startFixture,
} from './fixture.js';

let fixture: AccountFixture;
let outsider: Identity;

beforeAll(async () => {
  fixture = await startFixture({ isSweeping: false });
  outsider = await ecIdentity('P-256', asAuthority);
});
afterAll(() => fixture.app.stop());
beforeEach(async () => {
  for (const table of ['enrollment_requests', 'enrollment_users']) {
    await fixture.app.db.knex(table).delete();
  }
});
afterEach(async () => {
  for (const { app } of others.splice(0)) await app.stop();
});

const others: AccountFixture[] = [];

async function startOther(env: Record<string, string>): Promise<AccountFixture> {
  const other = await startFixture({ env, isSweeping: false });
  others.push(other);
  return other;
}

const requests = () => fixture.app.db.knex('enrollment_requests');
const tokens = (now?: () => number) => new AccessTokens(fixture.app.box, now);
const byod = { account: ALICE, mode: 'byod' } as const;
const adde = { account: ALICE, mode: 'adde' } as const;

/** What is one of our CA for, which enrolls devices. */
async function ownIdentity(): Promise<Identity> {
  const keys = await deviceKeys();
  return { ...keys, certificate: issueIdentity(fixture.app.authority, keys) };
}

describe('a device that requests its profile', () => {
  it.each<[string, () => string | undefined]>([
    ['no token', () => undefined],
    ['a made-up token', () => 'bm90IG91cnM.bm90IG91cnM'],
    ['a token of one part', () => tokens().issue(byod).split('.')[0]],
    ['a token with something behind it', () => `${tokens().issue(byod)}.x`],
    [
      'a token of another server',
      () => new AccessTokens(new SecretBox(Buffer.alloc(32, 8))).issue(byod),
    ],
    ['an expired token', () => tokens(() => Date.now() - 10 * 60_000).issue(byod)],
    [
      'a token that was altered',
      () => {
        const [body = '', mac = ''] = tokens().issue(byod).split('.');
        const text = Buffer.from(body, 'base64url').toString().replace('alice', 'mallo');
        return `${Buffer.from(text).toString('base64url')}.${mac}`;
      },
    ],
    ['a token of megabytes less', () => 'a'.repeat(5_000)],
  ])('is asked to sign in with %s', async (_what, make) => {
    await addUser(fixture.app);
    const reply = await ask(fixture, { token: make() });
    expect([reply.status, reply.body.length]).toEqual([401, 0]);
    expect(reply.headers.get('www-authenticate')).toBe(
      'Bearer method="apple-as-web", url="https://mdm.example.com/enroll/account/login"',
    );
    expect(await requests()).toEqual([]);
  });

  it.each(['Basic YTpi', 'Bearer', 'Bearer  ', 'Token x', 'Bearer a b'])(
    'is asked to sign in with another Authorization: %s',
    async (Authorization) => {
      const response = await fetch(`${fixture.app.url}/enroll/account?mode=byod`, {
        method: 'POST',
        headers: { Authorization },
        body: new Uint8Array(signedBy(fixture.certified, buildPlist(ANONYMOUS))),
      });
      expect(response.status).toBe(401);
    },
  );

  it('is refused without a valid signature, whatever its token', async () => {
    await addUser(fixture.app);
    const token = tokens().issue(byod);
    const der = signedBy(fixture.certified, buildPlist(ANONYMOUS));
    const altered = Buffer.from(der);
    altered.writeUInt8(altered.readUInt8(der.length - 1) ^ 1, der.length - 1);
    for (const body of [Buffer.alloc(0), buildPlist(ANONYMOUS), altered, Buffer.from('x')]) {
      expect((await ask(fixture, { token, body })).status).toBe(400);
    }
    expect((await ask(fixture, { token, body: Buffer.alloc(70_000) })).status).toBe(413);
    expect(await requests()).toEqual([]);
  });

  it.each(['', 'BYOD', 'user', 'byod&mode=adde'])('must name a mode: %s', async (mode) => {
    expect((await ask(fixture, { mode })).status).toBe(400);
  });

  it.each<[string, () => Promise<Identity>]>([
    ['of another CA', async () => outsider],
    ['of our own CA', ownIdentity],
  ])('is identified only by a certificate of Apple, not %s', async (_what, signer) => {
    await addUser(fixture.app, { enrollment_mode: 'adde' });
    const by = { signer: await signer() };
    for (const token of [undefined, tokens().issue(adde)]) {
      expect((await ask(fixture, { mode: 'adde', token, ...by })).status).toBe(403);
    }
    const { UDID = '', SERIAL = '' } = MACHINE;
    for (const more of [{ UDID }, { SERIAL }]) {
      const facts = { ...ANONYMOUS, ...more };
      expect((await ask(fixture, { facts, token: tokens().issue(byod), ...by })).status).toBe(403);
    }
    expect(await requests()).toEqual([]);
    expect(fixture.app.logText()).toMatch(
      /the signature is not that of an Apple device.*issuer of the signer: CN=/,
    );
  });

  it('must identify itself to be a device of the organization', async () => {
    await addUser(fixture.app, { enrollment_mode: 'adde' });
    const token = tokens().issue(adde);
    for (const missing of ['UDID', 'SERIAL']) {
      const facts = { ...MACHINE, [missing]: '' };
      expect((await ask(fixture, { mode: 'adde', token, facts })).status).toBe(400);
    }
    expect(await requests()).toEqual([]);
  });

  it('that a person owns leaves no identifier of itself', async () => {
    await addUser(fixture.app);
    const facts = { ...MACHINE, IMEI: '35 123456 789012 3', MEID: '35123456789012' };
    expect((await ask(fixture, { facts, token: tokens().issue(byod) })).status).toBe(200);
    expect(await requests()).toMatchObject([
      { udid: null, serial_number: null, imei: null, meid: null, product_name: 'iPhone14,5' },
    ]);
  });

  it('gets only the mode that its user signed in for and is allowed', async () => {
    await addUser(fixture.app);
    expect((await ask(fixture, { mode: 'adde', token: tokens().issue(byod) })).status).toBe(403);
    expect((await ask(fixture, { mode: 'byod', token: tokens().issue(adde) })).status).toBe(403);
    expect((await ask(fixture, { mode: 'adde', token: tokens().issue(adde) })).status).toBe(403);
    expect(await requests()).toEqual([]);
  });

  it('is refused once its user is disabled or deleted', async () => {
    await addUser(fixture.app);
    const token = tokens().issue(byod);
    await fixture.app.db.knex('enrollment_users').update({ is_disabled: true });
    const disabled = await ask(fixture, { token });
    expect([disabled.status, disabled.body.toString()]).toEqual([
      403,
      'this account may not enroll devices\n',
    ]);
    await fixture.app.db.knex('enrollment_users').delete();
    expect((await ask(fixture, { token })).status).toBe(403);
  });

  it('is asked to sign in if another device has enrolled with the same token', async () => {
    await addUser(fixture.app);
    const token = tokens().issue(byod);
    expect((await ask(fixture, { token })).status).toBe(200);
    await fixture.app.db.knex('enrollment_requests').update({ enrolled_at: new Date() });
    expect((await ask(fixture, { token })).status).toBe(401);
  });

  it('may only use POST', async () => {
    const reply = await fetch(`${fixture.app.url}/enroll/account?mode=byod`);
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('the policy', () => {
  it.each([
    [{ ENROLLMENT: 'closed' }, 'enrollment is closed on this server'],
    [{ ACCOUNT_ENROLLMENT: 'off' }, 'account-driven enrollment is off on this server'],
  ])('%o refuses everyone', async (env, reason) => {
    const other = await startOther(env as unknown as Record<string, string>);
    await addUser(other.app);
    const token = new AccessTokens(other.app.box).issue(byod);
    for (const reply of [await ask(other), await ask(other, { token })]) {
      expect([reply.status, reply.body.toString()]).toEqual([403, `${reason}\n`]);
    }
    const found = await discover(other.app, `?user-identifier=${ALICE}`);
    expect([found.status, await found.json()]).toEqual([
      403,
      { code: 'com.apple.well-known.failed', description: reason },
    ]);
    const page = await new Browser(other.app).openLogin();
    expect([page.status, page.text.toLowerCase()]).toEqual([403, expect.stringContaining(reason)]);
    expect((await new Browser(other.app).submit({ account: ALICE })).status).toBe(403);
  });

  it('link accepts users with an account, which an admin created', async () => {
    const other = await startOther({ ENROLLMENT: 'link' });
    await addUser(other.app);
    const token = new AccessTokens(other.app.box).issue(byod);
    expect((await ask(other, { token })).status).toBe(200);
  });
});
