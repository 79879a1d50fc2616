import { createToken } from '../../../src/auth/api-tokens.js';
import { CommandQueue } from '../../../src/commands/queue.js';
import { verifyPassword } from '../../../src/crypto/secrets/password-hash.js';
import { createResourceServices } from '../../../src/server/resource-services.js';
import { adminApi, PUBLIC_URL, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(() => app.db.knex('enrollment_users').delete());

const PATH = '/enrollment_users';
const ALICE = { account: 'alice@example.com', password: 'correct horse battery' };

const document = (attributes: object, id?: number) => ({
  data: { type: 'enrollment_users', attributes, id },
});
const create = (attributes: object) => adminApi(app).post(PATH, document(attributes));

async function tokenFor(role: 'operator' | 'viewer'): Promise<string> {
  const actor = { name: 'test', role: 'admin' } as const;
  const context = { requestId: 'test', actor, sourceAddress: null };
  return (await createToken(app.db, { name: role, role, expiresAt: null }, context)).token;
}

describe('an enrollment user', () => {
  it('is stored with a hash of the password, which is never shown', async () => {
    const { status, body, text } = await create({ ...ALICE, full_name: 'Alice' });
    expect(status).toBe(201);
    expect(body.data.attributes).toEqual({
      account: 'alice@example.com',
      full_name: 'Alice',
      enrollment_mode: null,
      is_disabled: false,
      last_login_at: null,
      created_at: expect.any(String),
    });
    const [row] = await app.db.knex('enrollment_users');
    expect(await verifyPassword(ALICE.password, row.password_hash)).toBe(true);
    expect(row.password_hash).toMatch(/^\$scrypt\$ln=4,r=8,p=1\$/);
    const trail = JSON.stringify(await app.db.knex('audit_events'));
    for (const secret of [ALICE.password, row.password_hash]) {
      for (const shown of [text, trail, app.logText()]) expect(shown).not.toContain(secret);
    }
  });

  it('is stored with the full cost of scrypt, which only tests reduce', async () => {
    const queue = new CommandQueue(app.box);
    const { passwords } = createResourceServices({ box: app.box, queue, publicUrl: PUBLIC_URL });
    const stored = await passwords.hash(ALICE.password);
    expect(stored).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/);
    expect(await verifyPassword(ALICE.password, stored)).toBe(true);
  });

  it('gets a new password, or keeps the old one', async () => {
    const { id } = (await create(ALICE)).body.data;
    const hashNow = async () => (await app.db.knex('enrollment_users').first()).password_hash;
    const first = await hashNow();
    const renamed = await adminApi(app).patch(
      `${PATH}/${id}`,
      document({ enrollment_mode: 'adde', is_disabled: true }, id),
    );
    expect(renamed.body.data.attributes).toMatchObject({
      enrollment_mode: 'adde',
      is_disabled: true,
    });
    expect(await hashNow()).toBe(first);
    const changed = document({ password: 'another long password' }, id);
    expect((await adminApi(app).patch(`${PATH}/${id}`, changed)).status).toBe(200);
    expect(await verifyPassword('another long password', await hashNow())).toBe(true);
  });

  it.each<[string, object, string]>([
    ['no password', { account: ALICE.account }, 'password'],
    ['a short password', { ...ALICE, password: 'elevenchars' }, 'password'],
    ['null for a password', { ...ALICE, password: null }, 'password'],
    ['no account', { password: ALICE.password }, 'account'],
    ['what is no account', { ...ALICE, account: 'alice' }, 'account'],
    ['a bracket in it', { ...ALICE, account: '<a>@example.com' }, 'account'],
    ['a line in it', { ...ALICE, account: 'a\n@example.com' }, 'account'],
    ['an unknown mode', { ...ALICE, enrollment_mode: 'user' }, 'enrollment_mode'],
  ])('is refused with %s', async (_what, attributes, name) => {
    const { status, body } = await create(attributes);
    expect([status, body.errors[0].source]).toEqual([
      ...[422, { pointer: `/data/attributes/${name}` }],
    ]);
  });

  it('is unique ignoring case', async () => {
    await create(ALICE);
    const { status, body } = await create({ ...ALICE, account: 'Alice@Example.COM' });
    expect([status, body.errors[0].code]).toEqual([409, 'already_exists']);
    expect(await app.db.knex('enrollment_users')).toHaveLength(1);
  });

  it('is created and changed by admins, read by operators, and not by viewers', async () => {
    const { id } = (await create(ALICE)).body.data;
    const [operator, viewer] = [await tokenFor('operator'), await tokenFor('viewer')];
    const made = { ...ALICE, account: 'bob@example.com' };
    expect((await adminApi(app, operator).get(PATH)).status).toBe(200);
    expect((await adminApi(app, viewer).get(PATH)).status).toBe(403);
    for (const token of [operator, viewer]) {
      const api = adminApi(app, token);
      expect((await api.post(PATH, document(made))).status).toBe(403);
      expect((await api.patch(`${PATH}/${id}`, document({}, id))).status).toBe(403);
      expect((await api.delete(`${PATH}/${id}`)).status).toBe(403);
    }
    expect((await adminApi(app).delete(`${PATH}/${id}`)).status).toBe(204);
  });
});
