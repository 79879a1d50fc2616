import type request from 'supertest';
import { createToken } from '../../../src/auth/api-tokens.js';
import type { Role } from '../../../src/jsonapi/context.js';
import { addAccount, addListed } from '../../dep/devices/listed-devices.js';
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

describe('disowning', () => {
  const disown = (body: object, { role = 'admin' as Role, query = '' } = {}) =>
    api(role).post(`/dep/devices/disown${query}`, body);
  const faultsOf = async (answer: request.Test) => {
    const { status, body } = await answer;
    return [status, body.errors.map(({ code, source }: Fault) => [code, source?.pointer])];
  };
  interface Fault {
    code: string;
    source?: { pointer: string };
  }

  afterEach(async () => {
    // Whatever was refused has changed nothing.
    const asked = await knex()('dep_devices').where({ disown_result: 'requested' });
    expect((await jobs()).length).toBe(asked.length > 0 ? 1 : 0);
  });

  it('requires the role admin, and refused attempts are audited', async () => {
    await add('C02A');
    const body = { serial_numbers: ['C02A'], confirm: 'C02A' };
    expect(await refused(disown(body, { role: 'operator' }))).toEqual([403, 'forbidden']);
    expect(await audited('dep_devices.disown')).toMatchObject({ outcome: 'refused' });
  });

  it.each([
    ['no body', {}, ['/serial_numbers', '/confirm']],
    ['no device', { serial_numbers: [], confirm: '' }, ['/serial_numbers']],
    ['an empty name', { serial_numbers: [' '], confirm: '' }, ['/serial_numbers/0']],
    [
      'too many devices',
      { serial_numbers: Array.from({ length: 1001 }, (_, index) => `S${index}`), confirm: '' },
      ['/serial_numbers'],
    ],
    ['an unknown member', { serial_numbers: ['A'], confirm: 'A', force: true }, ['/force']],
  ])('is refused with %s', async (_what, body, pointers) => {
    const faults = pointers.map((pointer) => ['validation_failed', pointer]);
    expect(await faultsOf(disown(body))).toEqual([422, faults]);
    const inDocument = pointers.map((at) => ['validation_failed', `/data/attributes${at}`]);
    const document = { data: { type: 'dep_devices', attributes: body } };
    expect(await faultsOf(disown(document))).toEqual([422, inDocument]);
  });

  it.each([
    ['one', ['C02A'], ['', 'c02a', 'yes', 'disown 1 devices forever', 'disown 1 device forever']],
    ['two', ['C02A', 'C02B', 'C02A'], ['C02A', 'disown 3 devices forever', 'disown 2 devices']],
  ])('of %s requires the exact confirmation text', async (_number, serial_numbers, typed) => {
    for (const serial of ['C02A', 'C02B']) await add(serial);
    for (const confirm of typed) {
      const faults = [['confirmation_mismatch', '/confirm']];
      expect(await faultsOf(disown({ serial_numbers, confirm }))).toEqual([422, faults]);
    }
  });

  it('reports serial numbers that no account lists', async () => {
    await add('C02A');
    await add('C02B', { removed_at: new Date() });
    await add('C02C', { listed_at: null });
    const serial_numbers = ['C02A', 'C02B', 'C02C', 'C02D'];
    const answer = disown({ serial_numbers, confirm: 'disown 4 devices forever' });
    const faults = [1, 2, 3].map((index) => ['not_found', `/serial_numbers/${index}`]);
    expect(await faultsOf(answer)).toEqual([404, faults]);
  });

  it('reports serial numbers that another account lists', async () => {
    await add('C02A');
    await add('C02B');
    await add('C02C', { dep_account_id: await addAccount(knex()) });
    const body = { serial_numbers: ['C02A', 'C02C', 'C02B'], confirm: 'disown 3 devices forever' };
    const faults = [['other_dep_account', '/serial_numbers/1']];
    expect(await faultsOf(disown(body))).toEqual([409, faults]);
  });

  it('of enrolled devices, or of devices under way, requires force', async () => {
    const enrolled = await add('C02A', { is_enrolled: true });
    const sent = await add('C02B', { disown_result: 'sent' });
    const of = (serial: string) => ({ serial_numbers: [serial], confirm: serial });
    const both = { serial_numbers: ['C02A', 'C02B'], confirm: 'disown 2 devices forever' };
    const { body } = await disown(both);
    expect(body.errors[0]).toMatchObject({
      code: 'in_use',
      status: '409',
      detail: '1 device is enrolled: force=true disowns enrolled devices too',
    });
    expect(await audited('dep_devices.disown')).toMatchObject({
      outcome: 'refused',
      details: { code: 'in_use' },
    });
    expect(await refused(disown(of('C02B')))).toEqual([409, 'conflict']);
    expect(await refused(disown(both, { query: '?force=yes' }))).toEqual([
      400,
      'invalid_parameter',
    ]);
    expect((await disown(both, { query: '?force=true' })).status).toBe(202);
    for (const { id } of [enrolled, sent]) {
      expect((await rowOf(id)).disown_result).toBe('requested');
    }
  });

  it('answers with the devices, is audited, and disowns them at Apple by a job', async () => {
    const { id } = await add('C02A');
    await add('C02B');
    const body = { serial_numbers: ['C02A'], confirm: 'C02A' };
    const document = { data: { type: 'dep_devices', attributes: body } };
    const answer = await disown(document);
    expect([answer.status, answer.body.data]).toMatchObject([
      202,
      [{ type: 'dep_devices', id, attributes: { disown_result: 'requested', disowned_at: null } }],
    ]);
    expect(await audited('dep_devices.disown')).toEqual({
      outcome: 'success',
      target_type: 'dep_accounts',
      target_id: `${account}`,
      details: { serial_numbers: ['C02A'], force: false },
    });
    const { rows } = await knex().raw('select payload from graphile_worker._private_jobs');
    expect(rows).toEqual([{ payload: { accountId: account, ids: [id] } }]);
    expect(await jobs()).toEqual(['dep.disown']);
  });

  it('of a device that two accounts list is sent to the account that synced it last', async () => {
    const other = await addAccount(knex());
    await add('C02A', { told_at: new Date(1000) });
    await add('C02A', { told_at: new Date(3000), dep_account_id: other });
    await add('C02A', { told_at: new Date(2000), dep_account_id: await addAccount(knex()) });
    await disown({ serial_numbers: ['C02A'], confirm: 'C02A' }).expect(202);
    const asked = await knex()('dep_devices').where({ disown_result: 'requested' });
    expect(asked.map(({ dep_account_id }) => dep_account_id)).toEqual([other]);
  });
});
