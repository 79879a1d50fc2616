import { adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());

const view = (attributes: object) => ({ data: { type: 'saved_views', attributes } });

describe('a saved view', () => {
  it('has a name, a page of the console, and who saved it', async () => {
    const path = '/devices?f=%5B%22platform~eq~iOS%22%5D&sort=-last_seen';
    const { status, body } = await api.post('/saved_views', view({ name: 'Phones', path }));
    expect([status, body.data.attributes]).toEqual([
      201,
      { name: 'Phones', path, created_by: 'ADMIN_TOKEN', created_at: expect.any(String) },
    ]);
    const again = await api.post('/saved_views', view({ name: 'PHONES', path }));
    expect([again.status, again.body.errors[0].code]).toEqual([409, 'already_exists']);
    const { id } = body.data;
    const renamed = { data: { type: 'saved_views', id, attributes: { name: 'All phones' } } };
    const changed = await api.patch(`/saved_views/${id}`, renamed);
    expect([changed.status, changed.body.data.attributes.name]).toEqual([200, 'All phones']);
    expect((await api.delete(`/saved_views/${id}`)).status).toBe(204);
    expect((await api.get('/saved_views')).body.data).toEqual([]);
  });

  it.each([
    'devices',
    'https://example.com/devices',
    '//example.com/devices',
    '/\\example.com',
    'javascript:alert(1)',
    '/devices?q=two words',
    `/${'x'.repeat(4_000)}`,
    '',
  ])('refuses any other page: %j', async (path) => {
    const { status, body } = await api.post('/saved_views', view({ name: 'Other', path }));
    expect([status, body.errors[0].source]).toEqual([422, { pointer: '/data/attributes/path' }]);
  });
});
