import { facetSql } from '../../../src/db/store/facets.js';
import { devices } from '../../../src/resources/devices/devices.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  await app.db.knex('devices').insert([
    { serial_number: 'A1', platform: 'iOS', os_version: '18.1', is_enrolled: true, health: 'ok' },
    {
      serial_number: 'A2',
      platform: 'iOS',
      os_version: '18.1',
      is_enrolled: true,
      health: 'stuck',
    },
    { serial_number: 'A3', platform: 'iOS', os_version: '26.0', is_enrolled: false },
    { serial_number: 'A4', platform: 'macOS', os_version: '26.0', is_enrolled: true },
    { serial_number: 'A5' },
  ]);
});
afterAll(() => app.stop());

describe('GET /devices/facets', () => {
  it.each([
    ['by=color', 'by', 'devices are not counted by "color"; known: platform, os_version, '],
    ['by=constructor', 'by', 'devices are not counted by "constructor"'],
    ['by=', 'by', 'devices are not counted by ""'],
    [
      'by=platform,os_version,model,model_name,product_name,health,push_state,is_enrolled,is_dep',
      'by',
      'by takes at most 8 attributes',
    ],
    ['by=platform&by=model', 'by', 'by is given twice'],
    ['sort=id', 'sort', 'unknown query parameter "sort"; known: by, filter, filter[NAME]'],
    ['filter[nothing]=1', 'filter[nothing]', `devices can't be filtered by "nothing"`],
  ])('is refused with %s', async (query, parameter, message) => {
    const { status, body } = await api.get(`/devices/facets?${query}`);
    expect([status, body.errors[0].code]).toEqual([400, 'invalid_parameter']);
    expect(body.errors[0].source).toEqual({ parameter });
    expect(body.errors[0].detail).toContain(message);
  });

  it('is refused without a token, and by other methods', async () => {
    expect((await adminApi(app, 'wrong').get('/devices/facets')).status).toBe(401);
    expect((await api.post('/devices/facets')).status).toBe(405);
  });

  it('counts all devices by each attribute, the most frequent values first', async () => {
    const { status, body } = await api.get('/devices/facets?by=platform,os_version,is_enrolled');
    expect(status).toBe(200);
    expect(body).toEqual({
      meta: {
        total: 5,
        facets: {
          platform: [
            { value: 'iOS', count: 3 },
            { value: 'macOS', count: 1 },
            { value: null, count: 1 },
          ],
          os_version: [
            { value: '18.1', count: 2 },
            { value: '26.0', count: 2 },
            { value: null, count: 1 },
          ],
          is_enrolled: [
            { value: true, count: 3 },
            { value: false, count: 2 },
          ],
        },
        other: { platform: 0, os_version: 0, is_enrolled: 0 },
        counted_at: expect.stringMatching(/\+00:00$/),
      },
      links: { self: '/api/v1/devices/facets' },
      jsonapi: { version: '1.0' },
    });
  });

  it('counts those that a filter, or a search, matches', async () => {
    const filtered = await api.get('/devices/facets?by=health&filter[platform]=iOS');
    expect(filtered.body.meta.total).toBe(3);
    expect(filtered.body.meta.facets.health).toEqual([
      { value: 'ok', count: 1 },
      { value: 'stuck', count: 1 },
      { value: null, count: 1 },
    ]);
    const rule = encodeURIComponent('[{"name":"os_version","op":"ge","val":"26"}]');
    const newer = await api.get(`/devices/facets?by=os_version&filter=${rule}`);
    expect(newer.body.meta.facets.os_version).toEqual([{ value: '26.0', count: 2 }]);
    const none = await api.get('/devices/facets?filter[search]=nothing like it');
    expect(none.body.meta).toMatchObject({
      total: 0,
      facets: { platform: [] },
      other: { platform: 0 },
    });
  });

  it('shows 50 values, and how many devices have others', async () => {
    const many = Array.from({ length: 60 }, (_, index) => ({
      serial_number: `M${index}`,
      description: 'many',
      model: `Model${100 + index}`,
    }));
    await app.db.knex('devices').insert([...many, { ...many[59], serial_number: 'M60' }]);
    const { body } = await api.get('/devices/facets?by=model,is_dep&filter[description]=many');
    expect(body.meta.facets.model).toHaveLength(50);
    expect(body.meta.facets.model[0]).toEqual({ value: 'Model159', count: 2 });
    expect(body.meta.facets.model[1]).toEqual({ value: 'Model100', count: 1 });
    expect([body.meta.total, body.meta.other]).toEqual([61, { model: 10, is_dep: 0 }]);
    await app.db.knex('devices').where({ description: 'many' }).delete();
  });

  it('repeats a cached count for seconds, for the same query', async () => {
    const first = await api.get('/devices/facets?by=enrollment_type');
    await app.db.knex('devices').insert({ serial_number: 'LATER' });
    const again = await api.get('/devices/facets?by=enrollment_type');
    expect(again.body).toEqual(first.body);
    const known = await api
      .get('/devices/facets?by=enrollment_type')
      .set('If-None-Match', String(first.headers.etag));
    expect(known.status).toBe(304);
    const other = await api.get('/devices/facets?by=enrollment_type,is_dep');
    expect(other.body.meta.total).toBe(first.body.meta.total + 1);
    await app.db.knex('devices').where({ serial_number: 'LATER' }).delete();
  });

  it('reads the rows once', () => {
    const { text, bindings } = facetSql({
      shape: devices,
      filter: [],
      names: ['platform', 'health'],
      most: 50,
    });
    expect(bindings).toEqual([]);
    expect(text).toMatchInlineSnapshot(`
"with grouped as (
  select t0."platform", t0."health", grouping(t0."platform", t0."health") as sets, count(*)::integer as count
  from "devices" as t0 where true
  group by grouping sets ((t0."platform"), (t0."health"))
), valued as (
  select case when sets & 2 = 0 then 'platform' when sets & 1 = 0 then 'health' end as name, case when sets & 2 = 0 then to_jsonb("platform") when sets & 1 = 0 then to_jsonb("health") end as value, count from grouped
), ranked as (
  select name, value, count, (sum(count) over (partition by name))::integer as total,
    row_number() over (partition by name order by count desc, value) as place
  from valued
)
select name, value, count, total from ranked where place <= 50 order by name, place"
`);
  });
});
