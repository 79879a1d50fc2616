import request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { dumpRows, spellingsOf } from '../../mdm/rows.js';

const CONTEXT = {
  requestId: 'secrets',
  actor: { name: 'secrets', role: 'admin' as const },
  sourceAddress: null,
};
const VALUE = 'pölicy <&"\'> of the Wi-Fi';

let app: TestApp;
let tokens: Record<Role, string>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const token = async (role: Role) =>
    (await createToken(app.db, { name: role, role }, CONTEXT)).token;
  tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: ADMIN_TOKEN };
});
afterAll(() => app.stop());

function documentOf(attributes: Record<string, unknown>, id?: number) {
  return { data: { type: 'profile_secrets', id, attributes } };
}

async function add(name: string, value = VALUE) {
  const { status, body } = await adminApi(app).post(
    '/profile_secrets',
    documentOf({ name, value }),
  );
  expect(status).toBe(201);
  return body.data;
}

async function stored(id: number) {
  return await app.db.knex('profile_secrets').where({ id }).first();
}

describe('secrets of profiles', () => {
  it.each<Role>(['viewer', 'operator'])('can not be written by a %s', async (role) => {
    const { id } = await add(`of_${role}`);
    const api = adminApi(app, tokens[role]);
    const answers = [
      await api.post('/profile_secrets', documentOf({ name: 'x', value: VALUE })),
      await api.patch(`/profile_secrets/${id}`, documentOf({ value: 'other' }, id)),
      await api.delete(`/profile_secrets/${id}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect((await stored(id)).version).toBe(1);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a name with a dash', { name: 'a-b', value: VALUE }, '/data/attributes/name'],
    ['an empty name', { name: '', value: VALUE }, '/data/attributes/name'],
    ['a long name', { name: 'a'.repeat(101), value: VALUE }, '/data/attributes/name'],
    ['no value', { name: 'none' }, '/data/attributes/value'],
    ['an empty value', { name: 'none', value: '' }, '/data/attributes/value'],
    ['a control character', { name: 'none', value: 'a\u0001' }, '/data/attributes/value'],
    ['too long a value', { name: 'none', value: 'a'.repeat(10_001) }, '/data/attributes/value'],
  ])('are refused with %s', async (_what, attributes, pointer) => {
    const { status, body } = await adminApi(app).post('/profile_secrets', documentOf(attributes));
    expect([status, body.errors[0].source]).toEqual([422, { pointer }]);
  });

  it('have a name of their own', async () => {
    await add('twice');
    const again = documentOf({ name: 'twice', value: 'x' });
    const { status } = await adminApi(app).post('/profile_secrets', again);
    expect(status).toBe(409);
  });

  it.each([
    'filter[value]=x',
    'sort=value',
    'filter[sealed_value]=x',
    'fields[profile_secrets]=sealed_value',
  ])('are not found by ?%s', async (query) => {
    const { status } = await adminApi(app).get(`/profile_secrets?${query}`);
    expect(status).toBe(400);
  });

  it('are listed to viewers by name and version, never with their value', async () => {
    const { id, attributes } = await add('Listed_1');
    expect(Object.keys(attributes)).toEqual(['name', 'version', 'created_at', 'updated_at']);
    const { body } = await adminApi(app, tokens.viewer).get(`/profile_secrets/${id}`);
    expect(body.data.attributes).toMatchObject({ name: 'Listed_1', version: 1 });
    expect(JSON.stringify(body)).not.toContain('Wi-Fi');
  });

  it('get a new version with each new value, and none with the same value', async () => {
    const { id } = await add('counted');
    const before = await stored(id);
    const patch = (value: string) =>
      adminApi(app).patch(`/profile_secrets/${id}`, documentOf({ value }, id));
    expect((await patch(VALUE)).body.data.attributes.version).toBe(1);
    expect((await stored(id)).sealed_value.equals(before.sealed_value)).toBe(true);
    const { status, body } = await patch('other');
    expect([status, body.data.attributes]).toMatchObject([200, { name: 'counted', version: 2 }]);
    const { sealed_value } = await stored(id);
    expect(app.box.open(sealed_value, `profile_secrets/${id}`).toString()).toBe('other');
  });

  it('are deleted', async () => {
    const { id } = await add('gone');
    expect((await adminApi(app).delete(`/profile_secrets/${id}`)).status).toBe(204);
    expect(await stored(id)).toBeUndefined();
  });

  it('stand in no row, answer or line of the log, also with an Idempotency-Key', async () => {
    const value = 'the-text-that-nobody-may-see-17';
    const { status, text } = await request(app.app)
      .post('/api/v1/profile_secrets')
      .set('Authorization', `Bearer ${ADMIN_TOKEN}`)
      .set('Idempotency-Key', 'secret-1')
      .send(documentOf({ name: 'hidden', value }));
    expect(status).toBe(201);
    const rows = JSON.stringify(await dumpRows(app.db));
    for (const spelling of [value, ...spellingsOf(Buffer.from(value))]) {
      expect(rows).not.toContain(spelling);
      expect(app.logText()).not.toContain(spelling);
      expect(text).not.toContain(spelling);
    }
  });
});
