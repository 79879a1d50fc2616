import request from 'supertest';
import { createTestApi, type TestApi } from '../test-api.js';

let api: TestApi;
let group: number;
beforeAll(async () => {
  api = await createTestApi();
  const { knex } = api;
  const [row] = await knex('device_groups').insert({ name: 'all' }).returning('id');
  group = Number(row.id);
  await knex.raw(
    "insert into devices (udid, device_name) select 'u' || n, repeat('n', 50) from generate_series(1, 3000) n",
  );
  await knex.raw(
    'insert into device_group_devices (device_group_id, device_id) select ?, id from devices',
    [group],
  );
});
afterAll(() => api.close());

const get = (path: string) => request(api.app).get(`/api/v1${path}`);

describe('an include of more than 16 MB', () => {
  it.each([
    ['one resource', () => `/device_groups/${group}`, () => group],
    ['a list with one owner', () => '/device_groups', () => group],
  ])('of %s is refused with 400 naming the page to read instead', async (_what, path, owner) => {
    const { status, body } = await get(`${path()}?include=devices`);
    expect(status).toBe(400);
    const address = `/api/v1/device_groups/${owner()}/devices?page[size]=100`;
    expect(body.errors[0]).toMatchObject({
      code: 'invalid_parameter',
      source: { parameter: 'include' },
      detail: `the included resources would take more than 16 MB; leave it out of include and read it page by page at ${address}`,
    });
    const page = await get(address.slice('/api/v1'.length));
    expect([page.status, page.body.meta]).toEqual([200, { count: 100, total: 3000 }]);
  });

  it('of several owners names their paths by a pattern, and the largest step of a path', async () => {
    await api.knex('device_groups').insert({ name: 'none' });
    const { status, body } = await get('/device_groups?include=devices.tags');
    expect(status).toBe(400);
    expect(body.errors[0].detail).toContain('/api/v1/device_groups/{id}/devices?page[size]=100');
  });

  it('is served if fewer fields make it small enough', async () => {
    const { status, body } = await get(
      `/device_groups/${group}?include=devices&fields[devices]=udid`,
    );
    expect([status, body.included.length]).toEqual([200, 3000]);
  });

  it('is refused while it is read, not after it', async () => {
    const { knex } = api;
    await knex.raw('update devices set device_name = repeat(md5(id::text), 300)');
    const { status, body } = await get(
      `/device_groups/${group}?include=devices&fields[devices]=device_name`,
    );
    expect(status).toBe(400);
    expect(body.errors[0].detail).toContain('These rows hold more than 16 MB');
    expect(body.errors[0].detail).toContain(
      `/api/v1/device_groups/${group}/devices?page[size]=100`,
    );
  });
});
