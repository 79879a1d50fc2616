import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
let first: number;
let second: number;

beforeAll(async () => {
  api = await createTestApi();
  const rows = await api
    .knex('dep_accounts')
    .insert([{ server_name: 'A' }, { server_name: 'B' }])
    .returning('id');
  [first, second] = rows.map(({ id }) => id) as [number, number];
});
afterEach(() => api.knex.raw('delete from graphile_worker._private_jobs'));
afterAll(() => api.close());

const UUID = '0a1b2c3d-0000-4000-8000-000000000001';

function send(method: 'post' | 'patch' | 'delete', path: string, data?: object | null) {
  const body = data === undefined ? undefined : { data };
  return request(api.app)[method](`/api/v1/dep/${path}`).send(body);
}

const linkage = (id: number | null) => ({
  dep_account: { data: id === null ? null : { type: 'dep_accounts', id } },
});

function create(account: number | null, attributes: object = {}) {
  return send('post', 'profiles', {
    type: 'dep_profiles',
    relationships: linkage(account),
    attributes: { profile_name: 'Office', ...attributes },
  });
}

function patch(id: number, attributes: object, relationships: object = {}) {
  return send('patch', `profiles/${id}`, { type: 'dep_profiles', attributes, relationships });
}

const move = (id: number, account: number | null) => patch(id, {}, linkage(account));

/** As it is once Apple has it. */
async function defined(account = first): Promise<number> {
  const { id } = (await create(account)).body.data;
  await api
    .knex('dep_profiles')
    .where({ id })
    .update({
      status: 'defined',
      uuid: UUID,
      definition_digest: Buffer.alloc(32),
      last_upload_at: new Date(),
    });
  await api.knex.raw('delete from graphile_worker._private_jobs');
  return id;
}

async function deviceWith(dep_profile_id: number): Promise<number> {
  const serial_number = `S${dep_profile_id}`;
  const [row] = await api.knex('devices').insert({ serial_number, dep_profile_id }).returning('id');
  return row.id;
}

const jobs = (): Promise<string[]> => api.knex('jobs').orderBy('key').pluck('key');
const rowOf = (id: number) => api.knex('dep_profiles').where({ id }).first();

describe('a profile with an account', () => {
  it('waits for Apple from its creation on; without one it is only stored', async () => {
    const local = await create(null);
    expect([local.status, local.body.data.attributes.status, await jobs()]).toEqual([
      ...[201, 'local', []],
    ]);
    const created = await create(first);
    const { id } = created.body.data;
    expect([created.status, created.body.data.attributes.status, await jobs()]).toEqual([
      ...[201, 'pending', [`dep.define/${id}`]],
    ]);
  });

  it('is one created below its account, too', async () => {
    const data = { type: 'dep_profiles', attributes: { profile_name: 'Below' } };
    const { body } = await send('post', `accounts/${first}/dep_profiles`, data);
    expect([body.data.attributes.status, await jobs()]).toEqual([
      ...['pending', [`dep.define/${body.data.id}`]],
    ]);
  });

  it('is sent again when something changes that Apple stores, and only then', async () => {
    const id = await defined();
    const same = { profile_name: 'Office', url: 'https://mdm.example.com/dep/enroll' };
    for (const attributes of [same, { minimum_ios_version: '17.4' }]) {
      const { body } = await patch(id, attributes);
      expect([body.data.attributes.status, await jobs()]).toEqual(['defined', []]);
    }
    const { body } = await patch(id, { skip_setup_items: ['Siri'] });
    expect(body.data.attributes).toMatchObject({ status: 'pending', uuid: UUID });
    expect(await jobs()).toEqual([`dep.define/${id}`]);
  });

  it('is sent again by any save once Apple has refused it', async () => {
    const id = await defined();
    const refusal = {
      status: 'failed',
      status_text: 'FLAGS_INVALID',
      status_advice: 'Correct it.',
    };
    await api.knex('dep_profiles').where({ id }).update(refusal);
    const { body } = await patch(id, { profile_name: 'Office' });
    expect(body.data.attributes).toMatchObject({
      status: 'pending',
      status_text: null,
      status_advice: null,
    });
    expect(await jobs()).toEqual([`dep.define/${id}`]);
  });

  it('gets its account later, from either side', async () => {
    const [one, other] = [(await create(null)).body.data.id, (await create(null)).body.data.id];
    expect((await move(one, first)).body.data.attributes.status).toBe('pending');
    const data = [{ type: 'dep_profiles', id: other }];
    const added = await send('post', `accounts/${first}/relationships/dep_profiles`, data);
    expect([added.status, (await rowOf(other)).status]).toEqual([200, 'pending']);
    expect(await jobs()).toEqual([`dep.define/${one}`, `dep.define/${other}`].toSorted());
  });

  it('is unknown to Apple again when its account is removed or changed', async () => {
    const nothing = { uuid: null, definition_digest: null, last_upload_at: null };
    const moved = await defined();
    await move(moved, second);
    expect(await rowOf(moved)).toMatchObject({ ...nothing, status: 'pending' });
    expect(await jobs()).toEqual([`dep.define/${moved}`]);
    await move(moved, null);
    expect(await rowOf(moved)).toMatchObject({ ...nothing, status: 'local', dep_account_id: null });
    const dropped = await defined();
    const data = [{ type: 'dep_profiles', id: dropped }];
    await send('delete', `accounts/${first}/relationships/dep_profiles`, data);
    expect(await rowOf(dropped)).toMatchObject({ ...nothing, status: 'local' });
    expect(await jobs()).toEqual([]);
  });

  it('keeps its account while devices have it or it is a default', async () => {
    const id = await defined();
    await deviceWith(id);
    await api.knex('dep_accounts').where({ id: first }).update({ default_mac_profile_id: id });
    const data = [{ type: 'dep_profiles', id }];
    const ways = [
      move(id, second),
      send('patch', `profiles/${id}/relationships/dep_account`, null),
      send('post', `accounts/${second}/relationships/dep_profiles`, data),
      send('delete', `accounts/${first}/relationships/dep_profiles`, data),
    ];
    for (const refused of await Promise.all(ways)) {
      expect([refused.status, refused.body.errors[0].code]).toEqual([409, 'in_use']);
      expect(refused.body.errors[0].detail).toBe(
        `the dep_profile ${id} stays with its account: 1 device has it; ` +
          `it is a default profile of the dep_account ${first}`,
      );
    }
    expect(await rowOf(id)).toMatchObject({ dep_account_id: first, uuid: UUID });
    expect((await move(id, first)).status).toBe(200);
  });

  it('is unassigned from its devices when it is deleted, not counted as unassigned by an admin', async () => {
    const id = await defined();
    const device = await deviceWith(id);
    await api.knex('dep_devices').update({ assignment_due_at: null, assignment_attempts: 3 });
    await api.knex('dep_accounts').where({ id: first }).update({ default_ipad_profile_id: id });
    const refused = await send('delete', `profiles/${id}`);
    expect([refused.status, refused.body.errors[0].code]).toEqual([409, 'in_use']);
    expect(refused.body.errors[0].detail).toBe(
      `1 device has it; it is a default profile of the dep_account ${first}: force=true deletes it ` +
        'all the same',
    );
    expect([(await rowOf(id)).uuid, await jobs()]).toEqual([UUID, []]);
    expect((await send('delete', `profiles/${id}?force=true`)).status).toBe(204);
    const row = await api.knex('dep_devices').where({ device_id: device }).first();
    expect(row).toMatchObject({ auto_assign: true, assignment_attempts: 0 });
    expect(row.assignment_due_at).toEqual(expect.any(Date));
    expect(await api.knex('devices').where({ id: device }).first()).toMatchObject({
      dep_profile_id: null,
    });
    expect(await jobs()).toEqual([`dep.reconcile/${first}`]);
    const action = 'dep_profiles.delete';
    const audit = await api
      .knex('audit_events')
      .where({ action, target_id: String(id) })
      .first();
    const { changes, ...details } = audit.details;
    expect(changes).toMatchObject({ profile_name: ['Office', null], dep_account: [first, null] });
    expect(details).toEqual({
      profile_name: 'Office',
      devices: 1,
      default_of: [first],
      parameters: ['force'],
    });
  });

  it('is deleted without a job when no device needs one', async () => {
    for (const id of [await defined(), (await create(null)).body.data.id]) {
      expect((await send('delete', `profiles/${id}`)).status).toBe(204);
      expect(await rowOf(id)).toBeUndefined();
    }
  });

  it('that an admin has unassigned from a device is not assigned again automatically', async () => {
    const id = await defined();
    const device = await deviceWith(id);
    await api.knex('devices').where({ id: device }).update({ dep_profile_id: null });
    const row = await api.knex('dep_devices').where({ device_id: device }).first();
    expect(row.auto_assign).toBe(false);
  });
});

describe('the url of a profile', () => {
  it('follows PUBLIC_URL while it is that of this server', async () => {
    const own = 'https://mdm.example.com/dep/enroll';
    const { id } = (await create(null, { url: own })).body.data;
    const before = 'https://before.example.com/dep/enroll';
    await api.knex('dep_profiles').where({ id }).update({ url: before });
    await patch(id, { url: before, department: 'IT' });
    expect(await rowOf(id)).toMatchObject({ url: before, follows_public_url: true });
    const elsewhere = 'https://other.example.com/x';
    await patch(id, { url: elsewhere });
    expect(await rowOf(id)).toMatchObject({ url: elsewhere, follows_public_url: false });
    await patch(id, { url: null });
    expect(await rowOf(id)).toMatchObject({ url: own, follows_public_url: true });
  });
});

describe('a profile that Apple would refuse', () => {
  it('is stored, with a warning that points at the attribute', async () => {
    const attributes = { is_mdm_removable: false, skip_setup_items: ['Siri', 'PaneToCome'] };
    const created = await create(null, attributes);
    const pane = {
      pointer: '/data/attributes/skip_setup_items/1',
      detail: '"PaneToCome" is not a pane of Apple\'s schema; it is sent to Apple anyway',
    };
    const flag = {
      pointer: '/data/attributes/is_mdm_removable',
      detail: 'false requires is_supervised true: Apple refuses it (FLAGS_INVALID)',
    };
    expect([created.status, created.body.meta.warnings]).toEqual([201, [flag, pane]]);
    const corrected = await patch(created.body.data.id, { is_supervised: true });
    expect(corrected.body.meta.warnings).toEqual([pane]);
    const silent = await patch(created.body.data.id, { skip_setup_items: null });
    expect(silent.body.meta).toBeUndefined();
  });
});
