import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
let desk: number;
let shelf: number;
beforeAll(async () => {
  api = await createTestApi();
  const names = [{ serial_number: 'DESK' }, { serial_number: 'SHELF' }];
  [desk, shelf] = (await api.knex('devices').insert(names).returning('id')).map(({ id }) => id) as [
    number,
    number,
  ];
});
afterEach(() => api.knex('custom_attributes').delete());
afterAll(() => api.close());

function documentOf(attributes: Record<string, unknown>, device?: number) {
  const relationships = device && { device: { data: { type: 'devices', id: device } } };
  return { data: { type: 'custom_attributes', attributes, relationships } };
}

function post(path: string, document: object, role = 'operator') {
  return request(api.app).post(`/api/v1${path}`).set('X-Role', role).send(document);
}

async function stored() {
  return await api
    .knex('custom_attributes')
    .orderBy('device_id')
    .orderBy('name')
    .select('device_id', 'name', 'value');
}

describe('custom attributes', () => {
  it('are read by viewers and written by operators', async () => {
    const document = documentOf({ name: 'room', value: '2.14' }, desk);
    expect((await post('/custom_attributes', document, 'viewer')).status).toBe(403);
    const { status, body } = await post('/custom_attributes', document);
    expect([status, body.data.attributes.value]).toEqual([201, '2.14']);
    const path = `/api/v1/custom_attributes/${body.data.id}`;
    const read = await request(api.app).get(path).set('X-Role', 'viewer');
    expect(read.body.data.attributes).toMatchObject({ name: 'room', value: '2.14' });
    for (const method of ['patch', 'delete'] as const) {
      const change = request(api.app)[method](path).set('X-Role', 'viewer');
      expect((await change.send(documentOf({ value: 'x' }))).status).toBe(403);
    }
    expect(await stored()).toEqual([{ device_id: desk, name: 'room', value: '2.14' }]);
  });

  it('are set below their device, changed and deleted', async () => {
    const path = `/devices/${desk}/custom_attributes`;
    const { body } = await post(path, documentOf({ name: 'room', value: '2.14' }));
    const own = `/api/v1/custom_attributes/${body.data.id}`;
    const changed = await request(api.app)
      .patch(own)
      .set('X-Role', 'operator')
      .send(documentOf({ value: 'Café <2>' }));
    expect([changed.status, changed.body.data.attributes.value]).toEqual([200, 'Café <2>']);
    const { updated_at, created_at } = changed.body.data.attributes;
    expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(created_at));
    const list = await request(api.app).get(`/api/v1${path}`).set('X-Role', 'viewer');
    expect(list.body.meta.total).toBe(1);
    expect((await request(api.app).delete(own).set('X-Role', 'operator')).status).toBe(204);
    expect(await stored()).toEqual([]);
  });

  it('have one value for each name of a device, which ?replace=true sets again', async () => {
    const path = `/devices/${desk}/custom_attributes`;
    const first = await post(path, documentOf({ name: 'room', value: '1' }));
    await post(`/devices/${shelf}/custom_attributes`, documentOf({ name: 'room', value: '1' }));
    const again = await post(path, documentOf({ name: 'room', value: '2' }));
    expect([again.status, again.body.errors[0].code]).toEqual([409, 'already_exists']);
    const replaced = await post(`${path}?replace=true`, documentOf({ name: 'room', value: '2' }));
    expect([replaced.status, replaced.body.data.id]).toEqual([201, first.body.data.id]);
    expect(replaced.body.data.attributes.value).toBe('2');
    const added = await post(`${path}?replace=true`, documentOf({ name: 'Room', value: '3' }));
    expect(added.status).toBe(201);
    expect(await stored()).toEqual([
      { device_id: desk, name: 'Room', value: '3' },
      { device_id: desk, name: 'room', value: '2' },
      { device_id: shelf, name: 'room', value: '1' },
    ]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['a name with a dash', { name: 'a-b', value: 'x' }, '/data/attributes/name'],
    ['an empty name', { name: '', value: 'x' }, '/data/attributes/name'],
    ['no name', { value: 'x' }, '/data/attributes/name'],
    ['a long name', { name: 'a'.repeat(101), value: 'x' }, '/data/attributes/name'],
    ['no value', { name: 'a' }, '/data/attributes/value'],
    ['an empty value', { name: 'a', value: '' }, '/data/attributes/value'],
    ['a number as value', { name: 'a', value: 7 }, '/data/attributes/value'],
    ['a control character', { name: 'a', value: 'a\u0001' }, '/data/attributes/value'],
    ['too long a value', { name: 'a', value: 'a'.repeat(1_001) }, '/data/attributes/value'],
  ])('are refused with %s', async (_what, attributes, pointer) => {
    const { status, body } = await post('/custom_attributes', documentOf(attributes, desk));
    expect([status, body.errors[0].source]).toEqual([422, { pointer }]);
    expect(await stored()).toEqual([]);
  });

  it.each(['', '?replace=true'])('are refused without a device that exists%s', async (query) => {
    const attributes = { name: 'a', value: 'x' };
    const none = await post(`/custom_attributes${query}`, documentOf(attributes));
    expect([none.status, none.body.errors[0].source.pointer]).toEqual([
      422,
      '/data/relationships/device',
    ]);
    const gone = await post(`/custom_attributes${query}`, documentOf(attributes, 999_999));
    expect([gone.status, gone.body.errors[0].code]).toEqual([404, 'not_found']);
    const below = await post(`/devices/999999/custom_attributes${query}`, documentOf(attributes));
    expect(below.status).toBe(404);
  });
});
