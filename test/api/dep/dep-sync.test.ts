import request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../../helpers/app.js';
import { jobRows } from '../../jobs/helpers.js';

let app: TestApp;
let id: number;
const tokens: Partial<Record<Role, string>> = { admin: ADMIN_TOKEN };

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const actor = { name: 'test', role: 'admin' as const };
  const context = { requestId: 'test', actor, sourceAddress: null };
  for (const role of ['viewer', 'operator'] as const) {
    tokens[role] = (await createToken(app.db, { name: role, role }, context)).token;
  }
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.db.knex('dep_accounts').delete();
  await app.db.knex.raw('delete from graphile_worker._private_jobs');
  id = await addAccount();
});

async function addAccount(columns: object = {}): Promise<number> {
  const [row] = await app.db
    .knex('dep_accounts')
    .insert({
      consumer_key: 'CK_1',
      access_token: 'AT_1',
      cursor: 'c7',
      sync_phase: 'delta',
      sealed_consumer_secret: Buffer.of(1),
      sealed_access_secret: Buffer.of(2),
      ...columns,
    })
    .returning<{ id: number }[]>('id');
  return row?.id ?? 0;
}

function sync(path: string | number, role: Role = 'operator', headers: object = {}) {
  return request(app.app)
    .post(`/api/v1/dep/accounts/${path}`)
    .set({ Authorization: `Bearer ${tokens[role]}`, ...headers });
}

async function refusal(path: string, role?: Role): Promise<[number, string]> {
  const { status, body } = await sync(path, role);
  return [status, body.errors[0].code];
}

const account = () => app.db.knex('dep_accounts').where({ id }).first();
const audited = () =>
  app.db
    .knex('audit_events')
    .where({ action: 'dep_accounts.sync', target_id: String(id) })
    .orderBy('id')
    .select('outcome', 'role', 'details');

describe('a sync by hand', () => {
  it.each<[string, (path: number) => string, Role, [number, string]]>([
    ['those who only read', (own) => `${own}/sync`, 'viewer', [403, 'forbidden']],
    [
      'no admin who wants all devices',
      (own) => `${own}/sync?full=true`,
      'operator',
      [403, 'forbidden'],
    ],
    ['an account that is none', () => '987654/sync', 'admin', [404, 'not_found']],
    ['what is no id', () => 'x/sync', 'admin', [404, 'not_found']],
    ['another parameter', (own) => `${own}/sync?force=true`, 'admin', [400, 'invalid_parameter']],
    ['another value', (own) => `${own}/sync?full=yes`, 'admin', [400, 'invalid_parameter']],
  ])('is refused to %s', async (_, path, role, refused) => {
    expect(await refusal(path(id), role)).toEqual(refused);
    expect(await jobRows(app.db)).toEqual([]);
    expect(await account()).toMatchObject({ sync_state: 'idle', cursor: 'c7' });
    const line = { outcome: 'refused', role, details: { code: 'forbidden' } };
    expect(await audited()).toEqual(refused[0] === 403 ? [line] : []);
  });

  it.each(['consumer_key', 'access_token', 'sealed_consumer_secret', 'sealed_access_secret'])(
    'requires the %s of a token',
    async (column) => {
      await app.db.knex('dep_accounts').update({ [column]: null });
      expect(await refusal(`${id}/sync`)).toEqual([409, 'no_dep_account']);
      expect(await jobRows(app.db)).toEqual([]);
    },
  );

  it('becomes a job, which the account shows', async () => {
    const { status, body, headers } = await sync(`${id}/sync`);
    expect(status).toBe(202);
    expect(headers).not.toHaveProperty('location');
    expect(body.data).toMatchObject({ type: 'dep_accounts', id });
    expect(body.data.attributes.sync_state).toBe('waiting');
    expect(await account()).toMatchObject({ sync_state: 'waiting', cursor: 'c7' });
    expect(await jobRows(app.db)).toMatchObject([{ task: 'dep.sync', key: `dep.sync/${id}` }]);
    expect(await audited()).toEqual([
      { outcome: 'success', role: 'operator', details: { full: false } },
    ]);
  });

  it('of all devices clears the cursor, also of a running sync', async () => {
    const running = { sync_state: 'running', sync_owner: 'other' };
    const sync_lease_until = new Date(Date.now() + 60_000);
    await app.db.knex('dep_accounts').update({ ...running, sync_lease_until });
    expect((await sync(`${id}/sync`)).body.data.attributes.sync_state).toBe('running');
    const { body } = await sync(`${id}/sync?full=true`, 'admin');
    expect(body.data.attributes).toMatchObject({ sync_state: 'waiting', cursor: null });
    expect(await account()).toMatchObject({ sync_phase: 'fetch', sync_owner: 'other' });
    expect(await jobRows(app.db)).toHaveLength(1);
  });

  it('is requested once with one Idempotency-Key', async () => {
    const key = { 'Idempotency-Key': 'sync-1' };
    const first = await sync(`${id}/sync?full=true`, 'admin', key);
    await app.db.knex('dep_accounts').update({ cursor: 'c8' });
    const again = await sync(`${id}/sync?full=true`, 'admin', key);
    expect([again.status, again.text]).toEqual([202, first.text]);
    expect((await account()).cursor).toBe('c8');
    expect(await audited()).toHaveLength(1);
  });
});
