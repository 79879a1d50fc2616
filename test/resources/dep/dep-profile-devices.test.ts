import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
let account: number;
let other: number;
let profile: number;

beforeAll(async () => {
  api = await createTestApi();
  account = await insert('dep_accounts', { server_name: 'Berlin' });
  other = await insert('dep_accounts', { server_name: 'Paris' });
  profile = await insertProfile(account);
});
afterAll(() => api.close());

async function insert(table: string, row: object): Promise<number> {
  const [inserted] = await api.knex(table).insert(row).returning('id');
  return inserted.id;
}

const insertProfile = (dep_account_id: number | null) =>
  insert('dep_profiles', { profile_name: 'P', url: 'https://mdm.example.com', dep_account_id });

const assignJobs = async () =>
  (await api.knex('jobs').where('key', 'like', 'dep.assign/%').orderBy('key')).map(
    ({ key }) => key,
  );

beforeEach(async () => {
  await api.knex('devices').delete();
  await api.knex('dep_devices').delete();
  await api.knex.raw('delete from graphile_worker._private_jobs');
});

/** Listed by Apple in one of the accounts. */
async function device(serial_number: string, accountId?: number): Promise<number> {
  const id = await insert('devices', { serial_number });
  const row = { dep_account_id: accountId, serial_number, device_id: id, listed_at: new Date() };
  if (accountId !== undefined) await api.knex('dep_devices').insert(row);
  return id;
}

const identifiers = (ids: number[]) => ids.map((id) => ({ type: 'devices', id }));
const relate = (method: 'post' | 'patch' | 'delete', ids: number[], to = profile) =>
  request(api.app)
    [method](`/api/v1/dep/profiles/${to}/relationships/devices`)
    .send({ data: identifiers(ids) });
const linked = (profileId: number | null) => ({
  dep_profile: { data: profileId === null ? null : { type: 'dep_profiles', id: profileId } },
});
const patchDevice = (id: number, profileId: number | null) =>
  request(api.app)
    .patch(`/api/v1/devices/${id}`)
    .send({ data: { type: 'devices', id, relationships: linked(profileId) } });

const faultOf = ({ status, body }: request.Response) => {
  const [{ code, source }] = body.errors;
  return [status, code, source.pointer];
};
const rowsOf = async (deviceId: number) => {
  const rows = await api.knex('dep_devices').where({ device_id: deviceId }).orderBy('id');
  return rows.map((row) => [
    ...[row.dep_account_id, row.assignment_due_at !== null, row.auto_assign],
  ]);
};

describe('a profile without an account', () => {
  it('is assigned to no device, by whichever way', async () => {
    const bare = await insertProfile(null);
    const id = await device('C02AAAAAAAA1', account);
    const attributes = { serial_number: 'C02AAAAAAAA9' };
    const data = { type: 'devices', attributes, relationships: linked(bare) };
    const document = { type: 'dep_profiles', id: bare };
    const devices = { devices: { data: identifiers([id]) } };
    const inDocument = { data: { ...document, relationships: devices } };
    const toOne = '/data/relationships/dep_profile';
    const ways: [pointer: string, answer: request.Test][] = [
      ['/data', relate('post', [id], bare)],
      ['/data', relate('patch', [id], bare)],
      [toOne, patchDevice(id, bare)],
      [toOne, request(api.app).post('/api/v1/devices').send({ data })],
      [
        '/data/relationships/devices/data',
        request(api.app).patch(`/api/v1/dep/profiles/${bare}`).send(inDocument),
      ],
    ];
    for (const [pointer, answer] of ways) {
      expect(faultOf(await answer)).toEqual([409, 'no_dep_account', pointer]);
    }
    expect([await api.knex('devices').pluck('dep_profile_id'), await assignJobs()]).toEqual([
      ...[[null], []],
    ]);
  });
});

describe('a device that Apple lists in another account alone', () => {
  it('is not assigned the profile, and the answer names both', async () => {
    const [mine, theirs] = [
      await device('C02AAAAAAAA1', account),
      await device('C02AAAAAAAA2', other),
    ];
    const refused = await relate('post', [mine, theirs]);
    expect(faultOf(refused)).toEqual([409, 'other_dep_account', '/data']);
    expect(refused.body.errors.map(({ detail }: { detail: string }) => detail)).toEqual([
      `devices ${theirs} (serial number C02AAAAAAAA2) is listed in dep_accounts ${other} (Paris), ` +
        `but the profile belongs to dep_accounts ${account}: assign a profile of the device's own ` +
        "account, or move it at Apple's portal and sync both accounts",
    ]);
    expect(faultOf(await patchDevice(theirs, profile))).toEqual([
      ...[409, 'other_dep_account', '/data/relationships/dep_profile'],
    ]);
    expect(await api.knex('devices').whereNotNull('dep_profile_id')).toEqual([]);
  });

  it('is assigned it once Apple lists it in both, or no longer in the other', async () => {
    const id = await device('C02AAAAAAAA2', other);
    await api.knex('dep_devices').update({ removed_at: new Date() });
    expect((await relate('post', [id])).status).toBe(200);
    await relate('delete', [id]);
    await api.knex('dep_devices').update({ removed_at: null, listed_at: new Date() });
    expect((await patchDevice(id, profile)).status).toBe(200);
  });
});

describe('a device that Apple has removed from the account', () => {
  it.each([
    ['removed', { removed_at: new Date() }],
    ['disowned', { disown_result: 'SUCCESS', disowned_at: new Date(), told_at: new Date(0) }],
  ])('is not assigned the profile, and nothing is due: %s', async (_name, row) => {
    const [gone, there] = [
      await device('C02AAAAAAAA1', account),
      await device('C02AAAAAAAA2', account),
    ];
    await api.knex('dep_devices').where({ device_id: gone }).update(row);
    const refused = await relate('post', [gone, there]);
    expect(faultOf(refused)).toEqual([409, 'conflict', '/data']);
    expect(refused.body.errors.map(({ detail }: { detail: string }) => detail)).toEqual([
      `devices ${gone}: Apple no longer lists C02AAAAAAAA1 in the account ${account}; assign it to ` +
        "the server again at Apple's portal and sync the account first",
    ]);
    const toOne = '/data/relationships/dep_profile';
    expect(faultOf(await patchDevice(gone, profile))).toEqual([409, 'conflict', toOne]);
    const wanted = await api.knex('devices').pluck('dep_profile_id');
    expect([wanted, await assignJobs()]).toEqual([[null, null], []]);
    expect(await rowsOf(there)).toEqual([[account, false, true]]);
    await api.knex('dep_devices').update({ removed_at: null, told_at: new Date() });
    expect((await relate('post', [gone, there])).status).toBe(200);
  });
});

describe('a profile that Apple refuses', () => {
  it('is assigned with a warning, which is shown at the devices until they get another', async () => {
    const refusal = { status: 'failed', status_text: 'FLAGS_INVALID', profile_name: 'Kiosk' };
    const failed = await insertProfile(account);
    await api.knex('dep_profiles').where({ id: failed }).update(refusal);
    const [one, two] = [
      await device('C02AAAAAAAA1', account),
      await device('C02AAAAAAAA2', account),
    ];
    const assigned = { assignment_result: 'SUCCESS', last_error: 'x', last_error_at: new Date(0) };
    await api.knex('dep_devices').update(assigned);
    const fault = "profile 'Kiosk' is not at Apple: FLAGS_INVALID";
    const given = await relate('post', [one], failed);
    const warning = (pointer: string) => ({
      pointer,
      detail: `${fault}; devices get it once the profile is at Apple`,
    });
    expect([given.status, given.body.data, given.body.meta]).toEqual([
      ...[200, identifiers([one]), { count: 1, warnings: [warning('/data')] }],
    ]);
    const patched = await patchDevice(two, failed);
    const toOne = warning('/data/relationships/dep_profile');
    expect([patched.status, patched.body.meta]).toEqual([200, { warnings: [toOne] }]);
    const shown = () =>
      api.knex('dep_devices').orderBy('id').select('assignment_result', 'last_error');
    const failing = { assignment_result: null, last_error: fault };
    expect(await shown()).toEqual([failing, failing]);
    const disown = { last_error: 'disown: FAILED' };
    await api.knex('dep_devices').where({ device_id: two }).update(disown);
    expect((await relate('post', [one, two])).body.meta).toBeUndefined();
    expect(await shown()).toEqual([
      ...[
        { ...failing, last_error: null },
        { ...failing, ...disown },
      ],
    ]);
  });
});

describe('a profile that is assigned or unassigned', () => {
  it('is due at Apple, with one job for all devices', async () => {
    const ids = [await device('C02AAAAAAAA1', account), await device('C02AAAAAAAA2')];
    const [listed = 0, unlisted = 0] = ids;
    expect((await relate('post', ids)).body.data).toEqual(identifiers(ids));
    expect([await rowsOf(listed), await rowsOf(unlisted)]).toEqual([
      [[account, true, true]],
      [[account, true, true]],
    ]);
    expect(await assignJobs()).toEqual([`dep.assign/${account}`]);
    expect((await relate('patch', [unlisted])).body.data).toEqual(identifiers([unlisted]));
    expect((await patchDevice(unlisted, null)).status).toBe(200);
    expect([await rowsOf(listed), await rowsOf(unlisted)]).toEqual([
      [[account, true, false]],
      [[account, true, false]],
    ]);
    const data = { type: 'devices', relationships: linked(profile) };
    const attributes = { serial_number: 'C02AAAAAAAA3' };
    const created = await request(api.app)
      .post('/api/v1/devices')
      .send({ data: { ...data, attributes } });
    expect(created.status).toBe(201);
    expect(await rowsOf(created.body.data.id)).toEqual([[account, true, true]]);
  });

  it('queues no job when nothing changes', async () => {
    const id = await device('C02AAAAAAAA1', account);
    await relate('post', [id]);
    await api.knex.raw('delete from graphile_worker._private_jobs');
    await api.knex('dep_devices').update({ assignment_due_at: null });
    for (const answer of [relate('post', [id]), patchDevice(id, profile), relate('patch', [id])]) {
      expect((await answer).status).toBe(200);
    }
    expect([await assignJobs(), await rowsOf(id)]).toEqual([[], [[account, false, true]]]);
  });

  it('waits for the serial number when the device has none yet', async () => {
    const id = await insert('devices', { udid: 'no-serial' });
    expect((await relate('post', [id])).status).toBe(200);
    expect(await rowsOf(id)).toEqual([]);
  });

  it('takes a few statements for a thousand devices', async () => {
    const many = { text: 'C02M', count: 1000 };
    await api.knex.raw(
      `insert into devices (serial_number) select :text || to_char(n, 'FM0000')
       from generate_series(1, :count) n`,
      many,
    );
    const ids: number[] = await api.knex('devices').pluck('id');
    const { result, sql } = await api.statements(() => relate('post', ids));
    expect(result.body.data).toHaveLength(1000);
    expect(sql.length).toBeLessThan(15);
    const due = api.knex('dep_devices').whereNotNull('assignment_due_at').count();
    expect(await due).toEqual([{ count: 1000 }]);
  });
});
