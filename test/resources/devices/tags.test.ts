import request from 'supertest';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

function post(attributes: Record<string, unknown>, role = 'operator') {
  return request(api.app)
    .post('/api/v1/tags')
    .set('X-Role', role)
    .send({ data: { type: 'tags', attributes } });
}

describe('tags', () => {
  it('are grey unless a colour is given, on create only', async () => {
    const grey = await post({ name: 'grey' });
    expect(grey.body.data.attributes).toEqual({
      name: 'grey',
      color: '888888',
      updated_at: expect.any(String),
    });
    const red = await post({ name: 'red', color: 'Ff0000' });
    expect(red.body.data.attributes.color).toBe('Ff0000');
    const renamed = await request(api.app)
      .patch(`/api/v1/tags/${red.body.data.id}`)
      .send({ data: { type: 'tags', attributes: { name: 'rouge' } } });
    expect(renamed.body.data.attributes).toEqual({
      name: 'rouge',
      color: 'Ff0000',
      updated_at: expect.any(String),
    });
  });

  it.each(['twice', 'Twice', 'TWICE'])(
    'refuse the name %s where "twice" exists, with 409 naming the attribute',
    async (name) => {
      await api.knex('tags').insert({ name: 'twice' }).onConflict().ignore();
      const other = await post({ name: `other than ${['twice', 'Twice', 'TWICE'].indexOf(name)}` });
      const renamed = request(api.app)
        .patch(`/api/v1/tags/${other.body.data.id}`)
        .send({ data: { type: 'tags', attributes: { name } } });
      for (const response of [await post({ name }), await renamed]) {
        expect([response.status, response.body.errors[0]]).toEqual([
          409,
          expect.objectContaining({
            status: '409',
            code: 'already_exists',
            detail: 'A record with this name already exists',
            source: { pointer: '/data/attributes/name' },
          }),
        ]);
      }
    },
  );

  it('may change the case of their own name', async () => {
    const { body } = await post({ name: 'case' });
    const renamed = await request(api.app)
      .patch(`/api/v1/tags/${body.data.id}`)
      .send({ data: { type: 'tags', attributes: { name: 'Case' } } });
    expect([renamed.status, renamed.body.data.attributes.name]).toEqual([200, 'Case']);
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['no name', {}, ['/data/attributes/name']],
    ['null as name', { name: null }, ['/data/attributes/name']],
    ['an empty name', { name: '' }, ['/data/attributes/name']],
    ['a number as name', { name: 7 }, ['/data/attributes/name']],
    ['a colour with #', { name: 'x', color: '#888888' }, ['/data/attributes/color']],
    ['no colour', { name: 'x', color: null }, ['/data/attributes/color']],
    [
      'several faults at once',
      { name: '', color: 'red', 'odd/~name': 1 },
      ['/data/attributes/name', '/data/attributes/color', '/data/attributes/odd~1~0name'],
    ],
  ])('refuse %s with 422', async (_what, attributes, pointers) => {
    const response = await post(attributes);
    expect(response.status).toBe(422);
    const given = response.body.errors.map((error: { source: unknown }) => error.source);
    expect(given).toEqual(pointers.map((pointer) => ({ pointer })));
  });

  it('are deleted without their devices', async () => {
    const { body } = await post({ name: 'gone' });
    const [device] = await api.knex('devices').insert({}).returning('id');
    await api.knex('device_tags').insert({ device_id: device.id, tag_id: body.data.id });
    const below = await request(api.app).get(`/api/v1/tags/${body.data.id}/devices`);
    expect(below.body.data).toMatchObject([{ type: 'devices', id: device.id }]);
    const removed = await request(api.app).delete(`/api/v1/tags/${body.data.id}`);
    expect(removed.status).toBe(204);
    expect(await api.knex('devices').where({ id: device.id })).toHaveLength(1);
  });
});

describe('the audit trail', () => {
  it('is read by admins only and cannot be written', async () => {
    for (const role of ['viewer', 'operator']) {
      const refused = await request(api.app).get('/api/v1/audit_events').set('X-Role', role);
      expect(refused.status).toBe(403);
    }
    const list = await request(api.app).get('/api/v1/audit_events?sort=-at&page[size]=1');
    expect(list.body.data[0].attributes.action).toBe('tags.delete');
    const post = await request(api.app).post('/api/v1/audit_events').send({});
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    const remove = await request(api.app).delete(`/api/v1/audit_events/${list.body.data[0].id}`);
    expect(remove.status).toBe(405);
  });
});
