import type request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import { parseBypassCode } from '../../../src/crypto/secrets/bypass-code.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { addAccount, addListed, addProfile } from '../../dep/devices/listed-devices.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let tokens: Record<Role, string>;
let account: number;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const actor = { name: 'test', role: 'admin' as const };
  const context = { requestId: 'test', actor, sourceAddress: null };
  const token = async (role: Role) =>
    (await createToken(app.db, { name: role, role }, context)).token;
  tokens = { viewer: await token('viewer'), operator: await token('operator'), admin: ADMIN_TOKEN };
});
afterAll(() => app.stop());
beforeEach(async () => {
  for (const table of ['dep_accounts', 'devices']) await knex()(table).delete();
  await knex().raw('delete from graphile_worker._private_jobs');
  account = await addAccount(knex());
});
afterEach(() => knex()('dep_profiles').delete());

const knex = () => app.db.knex;
const api = (role: Role = 'admin') => adminApi(app, tokens[role]);
const add = (serial_number: string, row: object = {}) =>
  addListed(knex(), { dep_account_id: account, serial_number, ...row });
const jobs = () => knex()('jobs').orderBy('id').pluck('task');
const rowOf = (id: number) => knex()('dep_devices').where({ id }).first();

async function refused(answer: request.Test): Promise<[number, string]> {
  const { status, body } = await answer;
  return [status, body.errors[0].code];
}

async function audited(action: string) {
  return await knex()('audit_events')
    .where({ action })
    .orderBy('id', 'desc')
    .first('outcome', 'target_type', 'target_id', 'details');
}

describe('a serial number in DEP', () => {
  it("shows Apple's data, the desired profile and the result, to viewers", async () => {
    const profile = await addProfile(knex(), account);
    const profile_uuid = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
    const { id, deviceId } = await add('C02A', { profile_uuid, profile_status: 'pushed' });
    await knex()('devices').where({ id: deviceId }).update({ dep_profile_id: profile });
    const { status, body } = await api('viewer').get(`/dep/devices/${id}`);
    expect([status, body.data.attributes]).toMatchObject([
      200,
      { serial_number: 'C02A', stage: 'pushed', profile_uuid, is_enrolled: false },
    ]);
    const link = (type: string, of: number) => ({ data: { type, id: of } });
    expect(body.data.relationships).toMatchObject({
      dep_account: link('dep_accounts', account),
      device: link('devices', deviceId),
      dep_profile: link('dep_profiles', profile),
    });
  });

  it('does not show a profile of another account as the desired one', async () => {
    const other = await addAccount(knex());
    const { id, deviceId } = await add('C02A');
    const dep_profile_id = await addProfile(knex(), other);
    await knex()('devices').where({ id: deviceId }).update({ dep_profile_id });
    const { body } = await api().get(`/dep/devices?sort=id&include=dep_profile`);
    const wanted = body.data.map(
      ({ relationships }: { relationships: { dep_profile: { data: { id: number } | null } } }) =>
        relationships.dep_profile.data?.id,
    );
    expect(wanted).toEqual([undefined, dep_profile_id]);
    expect(body.data[0].id).toBe(id);
    expect(body.included).toMatchObject([{ type: 'dep_profiles', id: dep_profile_id }]);
  });

  it('is found by stage, by part of itself, by account and by error', async () => {
    await add('C02A');
    await add('C02B', { profile_uuid: 'u', profile_status: 'assigned' });
    await add('C02C', { is_enrolled: true, last_error: 'disown: FAILED' });
    const found = async (query: string) => {
      const { body } = await api('viewer').get(`/dep/devices?sort=id&${query}`);
      return body.data.map(
        ({ attributes }: { attributes: { serial_number: string } }) => attributes.serial_number,
      );
    };
    const rule = (...rules: object[]) => `filter=${encodeURIComponent(JSON.stringify(rules))}`;
    expect(await found('filter[stage]=assigned')).toEqual(['C02B']);
    const part = { name: 'serial_number', op: 'ilike', val: '%2c' };
    expect(await found(rule(part))).toEqual(['C02C']);
    expect(await found(`filter[dep_account__id]=${account}`)).toEqual(['C02A', 'C02B', 'C02C']);
    expect(await found(`filter[dep_account__id]=${account + 1}`)).toEqual([]);
    expect(await found(rule({ name: 'last_error', op: 'isnot', val: null }))).toEqual(['C02C']);
  });

  it('cannot be created, and an operator may change auto_assign alone', async () => {
    const { id } = await add('C02A', { auto_assign: false });
    const attributes = { auto_assign: true, serial_number: 'X', stage: 'enrolled', model: 'Y' };
    const document = { data: { type: 'dep_devices', id, attributes } };
    expect(await refused(api().post('/dep/devices', document))).toEqual([
      405,
      'method_not_allowed',
    ]);
    const patch = (role: Role) => api(role).patch(`/dep/devices/${id}`, document);
    expect(await refused(patch('viewer'))).toEqual([403, 'forbidden']);
    expect(await jobs()).toEqual([]);
    expect((await patch('operator')).status).toBe(200);
    const stored = { auto_assign: true, serial_number: 'C02A', stage: 'unassigned', model: null };
    expect(await rowOf(id)).toMatchObject(stored);
    expect(await jobs()).toEqual(['dep.reconcile']);
    expect(await audited('dep_devices.update')).toMatchObject({ target_id: `${id}` });
  });

  it('is not reconciled when auto_assign is turned off', async () => {
    const { id } = await add('C02A');
    const data = { type: 'dep_devices', id, attributes: { auto_assign: false } };
    expect((await api('operator').patch(`/dep/devices/${id}`, { data })).status).toBe(200);
    expect([(await rowOf(id)).auto_assign, await jobs()]).toEqual([false, []]);
    data.id = id + 1;
    const unknown = api().patch(`/dep/devices/${id + 1}`, { data });
    expect(await refused(unknown)).toEqual([404, 'not_found']);
  });

  it('can be deleted by an admin once Apple does not list it', async () => {
    const { id, deviceId } = await add('C02A');
    const path = `/dep/devices/${id}`;
    expect(await refused(api('operator').delete(path))).toEqual([403, 'forbidden']);
    expect(await refused(api().delete(path))).toEqual([409, 'conflict']);
    await knex()('dep_devices').update({ removed_at: new Date() });
    expect((await api().delete(path)).status).toBe(204);
    const never = await add('C02B', { listed_at: null });
    expect((await api().delete(`/dep/devices/${never.id}`)).status).toBe(204);
    expect(await knex()('dep_devices')).toEqual([]);
    expect(await knex()('devices').pluck('id')).toEqual([deviceId, never.deviceId]);
  });

  it('is kept when the record of its device is deleted, without it and not enrolled', async () => {
    const { id, deviceId } = await add('C02A', { is_enrolled: true });
    expect((await rowOf(id)).stage).toBe('enrolled');
    expect((await api().delete(`/devices/${deviceId}`)).status).toBe(204);
    expect(await rowOf(id)).toMatchObject({ device_id: null, stage: 'unassigned' });
  });
});

describe('the funnel of an account', () => {
  it('counts by stage, and from each stage on', async () => {
    const profile = { profile_uuid: 'u', profile_status: 'assigned' };
    const pushed = { ...profile, profile_status: 'pushed' };
    const contacted_at = new Date();
    await add('C02A', { last_error: 'x', assignment_due_at: new Date() });
    await add('C02B', profile);
    await add('C02C', profile);
    await add('C02D', pushed);
    await add('C02E', { ...pushed, contacted_at, last_error: 'y' });
    for (const serial of ['C02F', 'C02G', 'C02H']) await add(serial, { is_enrolled: true });
    const gone = { removed_at: new Date(), last_error: 'z', assignment_due_at: new Date() };
    await add('C02I', gone);
    await add('C02J', { listed_at: null, is_enrolled: true, last_error: 'w' });
    await add('C02K', { listed_at: null, assignment_due_at: new Date() });
    const refused = await addProfile(knex(), account);
    await knex()('dep_profiles').update({ status: 'failed', status_text: 'NO' });
    const waiting = await add('C02L', profile);
    await knex()('devices').where({ id: waiting.deviceId }).update({ dep_profile_id: refused });
    await addAccount(knex());
    const { status, body } = await api('viewer').get(`/dep/accounts/${account}/funnel`);
    const self = `/api/v1/dep/accounts/${account}/funnel`;
    expect(status).toBe(200);
    expect(body.data).toEqual({
      type: 'dep_funnels',
      id: account,
      links: { self },
      attributes: {
        stages: { unassigned: 1, assigned: 3, pushed: 1, contacted: 1, enrolled: 3, removed: 1 },
        total: 9,
        assigned_or_beyond: 8,
        pushed_or_beyond: 5,
        contacted_or_beyond: 4,
        enrolled: 3,
        removed: 1,
        not_listed: 2,
        failing: 4,
        assignment_due: 2,
      },
    });
  });

  it('is all 0 for an account without devices, and 404 without an account', async () => {
    const path = (id: number) => `/dep/accounts/${id}/funnel`;
    const { body } = await api().get(path(account));
    const { stages, ...sums } = body.data.attributes;
    expect(Object.values({ ...stages, ...sums })).toEqual(Array(13).fill(0));
    expect(await refused(api().get(path(account + 1)))).toEqual([404, 'not_found']);
    expect(await refused(api().get(`${path(account)}?x=1`))).toEqual([400, 'invalid_parameter']);
  });
});

describe('the activation lock', () => {
  const lock = (id: number, body?: object, { role = 'admin' as Role, query = '' } = {}) =>
    api(role).post(`/dep/devices/${id}/activation_lock${query}`, body);

  it('requires the role admin, a device that Apple lists, and its record', async () => {
    const { id, deviceId } = await add('C02A');
    expect(await refused(lock(id, {}, { role: 'operator' }))).toEqual([403, 'forbidden']);
    expect(await refused(lock(id + 1))).toEqual([404, 'not_found']);
    expect(await refused(lock(id, { message: 'x' }))).toEqual([422, 'validation_failed']);
    const removed = await add('C02B', { removed_at: new Date() });
    const never = await add('C02C', { listed_at: null });
    for (const each of [removed, never]) {
      expect(await refused(lock(each.id))).toEqual([409, 'conflict']);
    }
    await knex()('devices').where({ id: deviceId }).delete();
    expect(await refused(lock(id))).toEqual([409, 'conflict']);
    expect([await knex()('device_secrets'), await jobs()]).toEqual([[], []]);
  });

  it('makes a code, which is revealed among the secrets of the device', async () => {
    const { id, deviceId } = await add('C02A');
    const { status, body } = await lock(id, { lost_message: 'Please call' });
    expect([status, body.data.attributes.activation_lock_result]).toEqual([202, 'requested']);
    const { secret_id } = body.meta;
    expect(body.meta).toMatchObject({ device_id: deviceId, secret_id });
    const { body: revealed } = await api().post(
      `/devices/${deviceId}/secrets/${secret_id}/reveal`,
      { reason: 'lost' },
    );
    const { kind, value, encoding } = revealed.data.attributes;
    expect([kind, encoding]).toEqual(['activation_lock_bypass_code', 'utf8']);
    expect(parseBypassCode(value)).toHaveLength(16);
    expect(await audited('dep_devices.activation_lock')).toEqual({
      outcome: 'success',
      target_type: 'dep_devices',
      target_id: `${id}`,
      details: { serial_number: 'C02A', device_id: deviceId, secret_id },
    });
    expect(await jobs()).toEqual(['dep.activation_lock']);
    expect(app.logText()).not.toContain(value);
  });

  it('makes no second code for a locked device unless forced', async () => {
    const { id } = await add('C02A', { activation_lock_result: 'SUCCESS' });
    expect(await refused(lock(id))).toEqual([409, 'conflict']);
    expect((await lock(id, undefined, { query: '?force=true' })).status).toBe(202);
    await knex()('dep_devices').update({ activation_lock_result: 'FAILED' });
    const data = { type: 'dep_devices', attributes: { lost_message: 'x' } };
    expect((await lock(id, { data })).status).toBe(202);
    expect(await knex()('device_secrets')).toHaveLength(2);
  });
});
