import request from 'supertest';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
let path: string;
beforeAll(async () => {
  api = await createTestApi();
});
beforeEach(async () => {
  await api.knex('devices').del();
  const [row] = await api.knex('devices').insert({ udid: 'D-1' }).returning('id');
  path = `/api/v1/devices/${row.id}`;
});
afterAll(() => api.close());

const tagOf = async (at = path) => String((await request(api.app).get(at)).headers.etag);

const rename = (etag: string) =>
  request(api.app)
    .patch(path)
    .set('If-Match', etag)
    .send({ data: { type: 'devices', attributes: { asset_tag: 'A-1' } } });

describe('If-Match on a device', () => {
  it('does not fail because of its contacts', async () => {
    const etag = await tagOf();
    await api.knex('devices').update({
      last_seen: new Date(),
      tokenupdate_at: new Date(),
      last_push_at: new Date(),
      last_apns_id: 'id',
      failed_push_count: 3,
      battery_level: 0.5,
      available_device_capacity: 12.5,
    });
    expect(await tagOf()).not.toBe(etag);
    expect((await rename(etag)).status).toBe(200);
  });

  it.each([
    ['what an inventory finds', { os_version: '26.1' }],
    ['what another administrator writes', { asset_tag: 'B-2' }],
  ])('fails after %s', async (_what, change) => {
    const etag = await tagOf();
    await api.knex('devices').update(change);
    expect((await rename(etag)).status).toBe(412);
  });
});

describe('If-Match on an account of the enrollment program', () => {
  it('fails after a change of a secret, which no document shows', async () => {
    const created = await request(api.app)
      .post('/api/v1/dep/accounts')
      .send({ data: { type: 'dep_accounts', attributes: { consumer_secret: 'first' } } });
    expect(created.status).toBe(201);
    path = String(created.headers.location);
    const etag = await tagOf();
    const change = (consumer_secret: string) =>
      request(api.app)
        .patch(path)
        .set('If-Match', etag)
        .send({ data: { type: 'dep_accounts', attributes: { consumer_secret } } });
    expect((await change('second')).status).toBe(200);
    expect((await change('third')).status).toBe(412);
  });
});
