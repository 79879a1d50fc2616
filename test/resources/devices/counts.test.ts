import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let ids: number[];

const DEVICES = 3;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  const rows = Array.from({ length: DEVICES }, (_, index) => ({ serial_number: `COUNT${index}` }));
  ids = (await app.db.knex('devices').insert(rows).returning('id')).map(({ id }) => id);
});
afterAll(() => app.stop());

async function statementsOf<T>(work: () => Promise<T>): Promise<{ result: T; count: number }> {
  let count = 0;
  const note = () => {
    count += 1;
  };
  app.db.knex.on('query', note);
  const result = await work();
  app.db.knex.removeListener('query', note);
  return { result, count };
}

describe('the count of devices', () => {
  it.each([
    ['tags', 'device_tags', 'tag_id'],
    ['device_groups', 'device_group_devices', 'device_group_id'],
  ])('of %s is read when fields names it, and only then', async (type, table, column) => {
    const created = await app.db
      .knex(type)
      .insert([{ name: 'two' }, { name: 'none' }])
      .returning('id');
    const [two, none] = created.map(({ id }) => id);
    const links = ids.slice(0, 2).map((device_id) => ({ device_id, [column]: two }));
    await app.db.knex(table).insert(links);
    const { result, count } = await statementsOf(() =>
      api.get(`/${type}?fields[${type}]=name,devices_count&sort=id`),
    );
    const seen = result.body.data.map(({ id, attributes }: { id: number; attributes: object }) => [
      id,
      attributes,
    ]);
    expect(seen).toEqual([
      [two, { name: 'two', devices_count: 2 }],
      [none, { name: 'none', devices_count: 0 }],
    ]);
    // Those of the list have connections of their own; none is for a row.
    expect(count).toBe(0);
    const item = await api.get(`/${type}/${two}?fields[${type}]=devices_count`);
    expect(item.body.data.attributes).toEqual({ devices_count: 2 });
    for (const path of [`/${type}/${two}`, `/${type}`]) {
      const { body } = await api.get(path);
      const [first] = [body.data].flat();
      expect(first.attributes).not.toHaveProperty('devices_count');
    }
  });

  it('cannot be filtered, sorted by, or written', async () => {
    expect((await api.get('/tags?sort=devices_count')).status).toBe(400);
    expect((await api.get('/tags?filter[devices_count]=1')).status).toBe(400);
    const attributes = { name: 'written', devices_count: 9 };
    const created = await api.post('/tags', { data: { type: 'tags', attributes } });
    expect([created.status, created.body.data.attributes]).toEqual([
      201,
      { name: 'written', color: '888888', updated_at: expect.any(String) },
    ]);
  });

  it('does not change the state that If-Match compares', async () => {
    const [tag] = await app.db.knex('tags').insert({ name: 'state' }).returning('id');
    const { headers } = await api.get(`/tags/${tag.id}?fields[tags]=devices_count`);
    await app.db.knex('device_tags').insert({ device_id: ids[0], tag_id: tag.id });
    const patched = await api
      .patch(`/tags/${tag.id}`, { data: { type: 'tags', attributes: { name: 'changed' } } })
      .set('If-Match', String(headers.etag));
    expect(patched.status).toBe(200);
  });
});

describe('pending_commands of a device', () => {
  it('counts those that are not final, for a page in one statement', async () => {
    for (const status of ['Queued', 'NotNow', 'Acknowledged']) {
      await app.db.knex('commands').insert({
        ...{ device_id: ids[0], request_type: 'DeviceInformation', status },
        ...{ uuid: app.db.knex.raw('gen_random_uuid()'), payload: Buffer.from('x') },
      });
    }
    const { body } = await api.get('/devices?fields[devices]=pending_commands&sort=serial_number');
    const counts = body.data.map(({ attributes }: { attributes: object }) => attributes);
    expect(counts).toEqual([
      { pending_commands: 2 },
      { pending_commands: 0 },
      { pending_commands: 0 },
    ]);
    const csv = await api
      .get('/devices?fields[devices]=serial_number,pending_commands&sort=serial_number')
      .set('Accept', 'text/csv');
    expect(csv.text).toContain(`${ids[0]},COUNT0,2\r\n`);
    const item = await api.get(`/devices/${ids[0]}`);
    expect(item.body.data.attributes).not.toHaveProperty('pending_commands');
  });

  it('is in the answer to a create whose fields name it', async () => {
    const data = { type: 'devices', attributes: { udid: 'COUNTED' } };
    const created = await api.post('/devices?fields[devices]=udid,pending_commands', { data });
    expect([created.status, created.body.data.attributes]).toEqual([
      201,
      { udid: 'COUNTED', pending_commands: 0 },
    ]);
  });
});
