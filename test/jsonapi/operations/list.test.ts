import request from 'supertest';
import { createTestApi, type TestApi } from '../test-api.js';

const DEVICES = 450;

let api: TestApi;
let ids: number[];

beforeAll(async () => {
  api = await createTestApi();
  const devices = Array.from({ length: DEVICES }, (_, index) => ({
    udid: `udid ${index}`,
    device_name: index % 3 === 0 ? null : `a "name" – ${index % 7}\n`,
    os_version: `${index % 2}`,
  }));
  const rows = await api.knex('devices').insert(devices).returning('id');
  ids = rows.map(({ id }) => Number(id));
});
afterAll(() => api.close());

function get(path: string, query: Record<string, string> = {}) {
  return request(api.app).get(`/api/v1${path}`).query(query);
}

function idsOf({ body }: request.Response): number[] {
  return body.data.map(({ id }: { id: number }) => id);
}

function cursorIn(link: string | null): string {
  const query = new URLSearchParams((link ?? '').split('?')[1]);
  return query.get('page[after]') ?? query.get('page[before]') ?? '';
}

describe('a list paged by cursor', () => {
  const start = { 'page[after]': '', 'page[size]': '5', sort: '-device_name' };

  it('has links with cursors once one is used, and none before', async () => {
    const plain = await get('/devices', { 'page[size]': '5' });
    expect(plain.body.links.next).toBe('/api/v1/devices?page%5Bsize%5D=5&page%5Bnumber%5D=2');
    const { body } = await get('/devices', start);
    const { links } = body;
    expect(links.first).toBe('/api/v1/devices?page%5Bafter%5D=&page%5Bsize%5D=5&sort=-device_name');
    expect(links.last).toBe('/api/v1/devices?page%5Bsize%5D=5&sort=-device_name&page%5Bbefore%5D=');
    expect(links.prev).toBeNull();
    expect(links.next).toMatch(/^\/api\/v1\/devices\?page%5Bafter%5D=[\w-]+&page%5Bsize%5D=5&sort/);
    expect(body.meta).toEqual({ count: 5, total: DEVICES });
  });

  it('returns to the same page forwards and backwards', async () => {
    const first = await get('/devices', start);
    const second = await request(api.app).get(first.body.links.next);
    const back = await request(api.app).get(second.body.links.prev);
    expect(idsOf(back)).toEqual(idsOf(first));
    expect(back.body.links.prev).toBeNull();
    const forth = await request(api.app).get(back.body.links.next);
    expect(idsOf(forth)).toEqual(idsOf(second));
  });

  it('ends at the last page, in either direction', async () => {
    const { body } = await get('/devices', { 'page[after]': '', sort: 'device_name' });
    const last = await request(api.app).get(body.links.last);
    const everything = await get('/devices', { sort: 'device_name', 'page[size]': '1000' });
    expect(idsOf(last)).toEqual(idsOf(everything).slice(-30));
    expect(last.body.links.next).toBeNull();
    const cursor = cursorIn(last.body.links.prev);
    const after = await get('/devices', { 'page[after]': cursor, sort: 'device_name' });
    expect(idsOf(after)).toEqual(idsOf(last).slice(1));
    expect(after.body.links.next).toBeNull();
  });

  it('has a link back from an empty page', async () => {
    const none = await get('/devices', { ...start, 'filter[os_version]': 'none' });
    expect(none.body).toMatchObject({ data: [], meta: { count: 0, total: 0 } });
    expect(none.body.links).toMatchObject({ prev: null, next: null });
    const whole = await get('/devices', { 'page[before]': '' });
    const end = await get('/devices', { 'page[after]': '' });
    const last = cursorIn((await request(api.app).get(end.body.links.last)).body.links.prev);
    expect(last).not.toBe('');
    const { body } = await get('/devices', { 'page[after]': last, 'filter[id]': '1' });
    const back = await request(api.app).get(body.links.prev);
    expect(body.data).toEqual([]);
    expect(idsOf(back)).toEqual([1]);
    expect(whole.status).toBe(200);
  });

  it('works below a parent, with a filter, and with a page of several slices', async () => {
    const [device = 0] = ids;
    const { body } = await get(`/devices/${device}/tags`, { 'page[after]': '' });
    expect(body).toMatchObject({ data: [], meta: { total: 0 } });
    expect((await get('/devices/999999/tags', { 'page[after]': '' })).status).toBe(404);
    const odd = await get('/devices', { 'filter[os_version]': '1', 'page[before]': '' });
    expect(odd.body.meta).toEqual({ count: 30, total: DEVICES / 2 });
    expect(idsOf(odd)).toEqual(ids.filter((_, index) => index % 2 === 1).slice(-30));
    const many = await get('/devices', { 'page[after]': '', 'page[size]': '440' });
    expect(idsOf(many)).toEqual(ids.slice(0, 440));
  });

  it('has short cursors for long text, valid while the row exists', async () => {
    const names = ['x', 'y', 'z'].map((letter) => `${'ä'.repeat(9000)}${letter}`);
    const rows = names.map((device_name, index) => ({ udid: `long ${index}`, device_name }));
    const added = await api.knex('devices').insert(rows).returning('id');
    const long = added.map(({ id }) => Number(id));
    const filter = JSON.stringify([{ name: 'udid', op: 'startswith', val: 'long' }]);
    const query = { filter, sort: 'device_name', 'page[size]': '1', 'page[after]': '' };
    const first = await get('/devices', query);
    expect(first.body.links.next.length).toBeLessThan(400);
    const second = await request(api.app).get(first.body.links.next);
    expect([idsOf(first), idsOf(second)]).toEqual([[long[0]], [long[1]]]);
    expect(idsOf(await request(api.app).get(second.body.links.prev))).toEqual([long[0]]);
    await api.knex('devices').whereIn('id', long).del();
    const gone = await request(api.app).get(second.body.links.next);
    expect([gone.status, gone.body.errors[0].source]).toEqual([400, { parameter: 'page[after]' }]);
  });

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it.each<[string, string]>([
    ['no base64', '%%%'],
    ['no JSON', Buffer.from('[1,').toString('base64url')],
    ['no array', encode({})],
    ['another version', encode([2, 'devices:-enrolled_at', [null], 1])],
    ['another type', encode([1, 'tags:-enrolled_at', [null], 1])],
    ['another order', encode([1, 'devices:enrolled_at', [null], 1])],
    ['too few keys', encode([1, 'devices:-enrolled_at', [], 1])],
    ['a key of another kind', encode([1, 'devices:-enrolled_at', ['yesterday'], 1])],
    ['a key that is no text', encode([1, 'devices:-enrolled_at', [7], 1])],
    ['an id that is none', encode([1, 'devices:-enrolled_at', [null], '1'])],
    ['an id beyond all', encode([1, 'devices:-enrolled_at', [null], 1e300])],
    ['a total that is none', encode([1, 'devices:-enrolled_at', [null], 1, 'many'])],
  ])('refuses %s', async (_what, cursor) => {
    for (const parameter of ['page[after]', 'page[before]']) {
      const { status, body } = await get('/devices', { sort: '-enrolled_at', [parameter]: cursor });
      expect([status, body.errors?.[0].source]).toEqual([400, { parameter }]);
      expect(body.errors[0].code).toBe('invalid_parameter');
    }
  });

  it("refuses numbers that PostgreSQL can't read", async () => {
    const at = (column: string, key: string) =>
      get('/devices', { sort: column, 'page[after]': encode([1, `devices:${column}`, [key], 1]) });
    expect((await at('id', '1')).status).toBe(400);
    expect((await at('enrollment_number', '9'.repeat(19))).status).toBe(400);
    expect((await at('device_capacity', '1e999')).status).toBe(400);
    expect((await at('device_capacity', 'NaN')).status).toBe(200);
    expect((await at('is_supervised', 'perhaps')).status).toBe(400);
    expect((await at('udid', 'a\0')).status).toBe(400);
    expect((await at('last_push_at', '2026-02-30T00:00:00.000000Z')).status).toBe(400);
  });
});

describe('the bytes of a list', () => {
  it('equal those of its resources serialized one by one', async () => {
    const { body } = await get('/devices', { 'page[size]': '1000', include: 'tags' });
    const { data } = (await get(`/devices/${ids[1]}`, { include: 'tags' })).body;
    expect(idsOf({ body } as request.Response)).toEqual(ids);
    expect(Object.keys(body)).toEqual(['data', 'included', 'links', 'meta', 'jsonapi']);
    expect(body.data[1]).toMatchObject({ type: 'devices', links: data.links });
    expect(body.data[1].relationships).toEqual(data.relationships);
    for (const [name, value] of Object.entries(body.data[1].attributes)) {
      expect([name, data.attributes[name]]).toEqual([name, value]);
    }
  });

  it('have a weak entity tag, since it is shared with their compressed form, which changes with them', async () => {
    const first = await get('/tags');
    const { etag } = first.headers;
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    expect((await get('/tags')).headers.etag).toBe(etag);
    await api.knex('tags').insert({ name: 'new' });
    const second = await get('/tags');
    expect(second.headers.etag).not.toBe(etag);
    expect(Number(second.headers['content-length'])).toBe(Buffer.byteLength(second.text));
  });

  it.each<[string, (etag: string) => string, number]>([
    ['the tag', (etag) => etag, 304],
    ['a strong form of it', (etag) => etag.slice(2), 304],
    ['it among others', (etag) => `"a", ${etag} , W/"b"`, 304],
    ['anything', () => ' * ', 304],
    ['another', () => '"a"', 200],
    ['it without quotes', (etag) => etag.slice(3, -1), 200],
    ['nothing', () => '', 200],
  ])('are sent unless If-None-Match is %s', async (_what, header, expected) => {
    for (const path of ['/tags', `/devices/${ids[0]}`, `/devices/${ids[0]}/relationships/tags`]) {
      const { etag = '' } = (await get(path)).headers;
      const response = await get(path).set('If-None-Match', header(etag));
      expect([path, response.status]).toEqual([path, expected]);
      expect(response.headers.etag).toBe(etag);
      if (expected === 200) continue;
      expect(response.text).toBe('');
      expect(response.headers['content-type']).toBeUndefined();
    }
  });

  it('have their headers in the response to HEAD', async () => {
    const path = `/api/v1/devices?page[size]=300`;
    const [given, head] = [await request(api.app).get(path), await request(api.app).head(path)];
    for (const name of ['etag', 'content-length', 'content-type', 'vary']) {
      expect([name, head.headers[name]]).toEqual([name, given.headers[name]]);
    }
    expect(head.text).toBeUndefined();
  });
});

describe('equal requests for a list at the same time', () => {
  interface Reader {
    actor: string;
    role?: string;
  }

  /** The requests are answered when all of them have arrived: until then the table is locked. */
  async function together(readers: Reader[], query: Record<string, string>) {
    const lock = await api.knex.transaction();
    await lock.raw('lock table devices in access exclusive mode');
    const arrived = arrivals(readers.length);
    return api.statements(async () => {
      const responses = Promise.all(
        readers.map(({ actor, role = 'admin' }) =>
          get('/devices', query).set('X-Actor', actor).set('X-Role', role),
        ),
      );
      await arrived;
      await lock.commit();
      return responses;
    });
  }

  function arrivals(count: number): Promise<void> {
    let left = count;
    return new Promise((resolve) => {
      const note = () => {
        left -= 1;
        if (left > 0) return;
        api.app.removeListener('request', note);
        setImmediate(resolve);
      };
      api.app.on('request', note);
    });
  }

  it('read the page twice: for the first, and for all that came meanwhile', async () => {
    const query = { 'page[size]': '7', sort: '-id' };
    const { result, sql } = await together(Array(12).fill({ actor: 'one' }), query);
    expect(sql.filter((text) => text.includes('limit 7'))).toHaveLength(2);
    expect(new Set(result.map((response) => response.text)).size).toBe(1);
    expect(idsOf(result[0] as request.Response)).toEqual(ids.slice(-7).reverse());
  });

  it('share nothing between actors', async () => {
    const query = { 'page[size]': '8', sort: '-id' };
    const readers = [{ actor: 'a' }, { actor: 'b' }, { actor: 'a', role: 'viewer' }];
    const { result, sql } = await together(readers, query);
    expect(sql.filter((text) => text.includes('limit 8'))).toHaveLength(3);
    expect(result.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('see what was committed before they were sent', async () => {
    const query = { 'page[size]': '1', sort: '-id' };
    const running = get('/devices', query).then(({ status }) => status);
    const [{ id = 0 } = {}] = await api.knex('devices').insert({ udid: 'new' }).returning('id');
    const after = await get('/devices', query);
    expect([await running, idsOf(after)]).toEqual([200, [Number(id)]]);
    await api.knex('devices').where({ id }).delete();
  });
});
