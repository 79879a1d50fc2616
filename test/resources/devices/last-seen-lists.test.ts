import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
const ids: number[] = [];

// Ties, and devices that were never seen.
const SEEN = [3, null, 1, 2, 2, null, 5, 2, 4].map((day) => {
  return day === null ? null : `2026-03-0${day}T08:00:00.000Z`;
});

beforeAll(async () => {
  app = await startApp();
  for (const [index, last_seen] of SEEN.entries()) {
    const platform = index % 2 === 0 ? 'iOS' : 'macOS';
    const [{ id }] = await app.db
      .knex('devices')
      .insert({ serial_number: `SEEN${index}`, last_seen, platform })
      .returning('id');
    ids.push(id);
  }
});
afterAll(() => app.stop());

interface Page {
  data: { id: number; attributes: { last_seen: string | null } }[];
  meta: { total: number };
  links: { next: string | null; prev: string | null };
}

async function pageAt(path: string): Promise<Page> {
  const { body, status } = await adminApi(app).get(path.replace('/api/v1', ''));
  expect([status, body.errors]).toEqual([200, undefined]);
  return body;
}

/** The positions in SEEN of all rows, page by page along `link`. */
async function walk(query: string, link: 'next' | 'prev' = 'next'): Promise<number[]> {
  const start = link === 'next' ? 'page[after]=' : 'page[before]=';
  const found: number[] = [];
  for (let path: string | null = `/devices?${query}&${start}&page[size]=2`; path !== null; ) {
    const page: Page = await pageAt(path);
    const positions = page.data.map(({ id }) => ids.indexOf(id));
    found.splice(link === 'next' ? found.length : 0, 0, ...positions);
    path = page.links[link];
  }
  return found;
}

describe('devices in the order in which they were last seen', () => {
  it.each([
    ['last_seen', [2, 3, 4, 7, 0, 8, 6, 1, 5]],
    ['-last_seen', [6, 8, 0, 7, 4, 3, 2, 5, 1]],
  ])('sort=%s, forwards and backwards', async (sort, expected) => {
    expect(await walk(`sort=${sort}`)).toEqual(expected);
    expect(await walk(`sort=${sort}`, 'prev')).toEqual(expected);
    expect((await pageAt(`/devices?sort=${sort}`)).meta.total).toBe(SEEN.length);
  });

  it.each([
    [{ op: 'ge', val: '2026-03-03T08:00:00Z' }, [0, 6, 8]],
    [{ op: 'lt', val: '2026-03-02T08:00:00Z' }, [2]],
    [{ op: 'eq', val: '2026-03-02T08:00:00Z' }, [3, 4, 7]],
    [{ op: 'ne', val: '2026-03-02T08:00:00Z' }, [0, 1, 2, 5, 6, 8]],
    [{ op: 'is', val: null }, [1, 5]],
    [{ op: 'between', val: ['2026-03-01T09:00:00Z', '2026-03-04T08:00:00Z'] }, [0, 3, 4, 7, 8]],
    [{ op: 'gt', val: 'P3650D' }, [0, 2, 3, 4, 6, 7, 8]],
    [{ op: 'gt', field: 'created_at' }, []],
  ])('filter by %j alone, and with another', async (rule, expected) => {
    const filter = (rules: object[]) => `filter=${encodeURIComponent(JSON.stringify(rules))}`;
    const alone = filter([{ name: 'last_seen', ...rule }]);
    expect(await walk(alone)).toEqual(expected);
    const sorted = await walk(`${alone}&sort=-last_seen`);
    expect([...sorted].sort((a, b) => a - b)).toEqual(expected);
    expect((await pageAt(`/devices?${alone}&sort=device_name`)).meta.total).toBe(expected.length);
    const both = filter([
      { name: 'last_seen', ...rule },
      { name: 'platform', op: 'eq', val: 'iOS' },
    ]);
    const ofBoth = expected.filter((position) => position % 2 === 0);
    expect(await walk(both)).toEqual(ofBoth);
    expect((await pageAt(`/devices?${both}&sort=last_seen`)).meta.total).toBe(ofBoth.length);
  });

  it('follows each contact, and each record that is deleted', async () => {
    const { knex } = app.db;
    const [{ id }] = await knex('devices').insert({ serial_number: 'SEEN-ONCE' }).returning('id');
    const kept = () => knex('device_contacts').where({ device_id: id }).select('last_seen');
    expect(await kept()).toEqual([{ last_seen: null }]);
    const last_seen = new Date('2026-03-06T08:00:00Z');
    await knex('devices').where({ id }).update({ last_seen });
    expect(await kept()).toEqual([{ last_seen }]);
    const [first] = (await pageAt('/devices?sort=-last_seen&page[size]=1')).data;
    expect(first?.id).toBe(id);
    await knex('devices').where({ id }).delete();
    expect(await kept()).toEqual([]);
  });
});
