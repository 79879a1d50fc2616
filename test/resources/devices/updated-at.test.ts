import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());

describe('updated_at', () => {
  it.each([
    ['tags', { color: 'ff0000' }],
    ['device_groups', { description: 'On loan' }],
  ])('of %s changes with its attributes, not with its devices', async (type, change) => {
    const created = await api.post(`/${type}`, { data: { type, attributes: { name: 'Loans' } } });
    const { id } = created.body.data;
    const updatedAt = async () => (await api.get(`/${type}/${id}`)).body.data.attributes.updated_at;
    const patch = (attributes: object) =>
      api.patch(`/${type}/${id}`, { data: { type, id, attributes } });
    const first = await updatedAt();
    expect(first).toBe(created.body.data.attributes.updated_at);

    const [device] = await app.db.knex('devices').insert({}).returning('id');
    const data = [{ type: 'devices', id: device.id }];
    expect((await api.post(`/${type}/${id}/relationships/devices`, { data })).status).toBe(200);
    expect((await patch({ name: 'Loans' })).status).toBe(200);
    expect(await updatedAt()).toBe(first);

    const changed = await patch(change);
    const second = changed.body.data.attributes.updated_at;
    expect(Date.parse(second)).toBeGreaterThan(Date.parse(first));
    expect(await updatedAt()).toBe(second);

    const ignored = await patch({ updated_at: '2001-01-01T00:00:00Z' });
    expect([ignored.status, await updatedAt()]).toEqual([200, second]);
  });
});
