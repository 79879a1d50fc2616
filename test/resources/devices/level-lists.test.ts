import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

let app: TestApp;
const ids: number[] = [];

// Ties, and devices that reported nothing, or only something else.
const FREE = [12.5, null, 3, 40, 3, null, 0, 3, 256];

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  for (const [index, available_device_capacity] of FREE.entries()) {
    const platform = index % 2 === 0 ? 'iOS' : 'macOS';
    const battery_level = index === 1 ? 0.5 : null;
    const row = { serial_number: `FREE${index}`, platform, battery_level };
    const [{ id }] = await app.db
      .knex('devices')
      .insert({ ...row, available_device_capacity })
      .returning('id');
    ids.push(id);
  }
});
afterAll(() => app.stop());

interface Page {
  data: { id: number }[];
  meta: { total: number };
  links: { next: string | null };
}

/** The positions in FREE of all rows, page by page. */
async function walk(query: string): Promise<{ positions: number[]; total: number }> {
  const positions: number[] = [];
  let total = 0;
  for (let path: string | null = `/devices?${query}&page[after]=&page[size]=2`; path !== null; ) {
    const { body, status } = await adminApi(app).get(path.replace('/api/v1', ''));
    expect([status, body.errors]).toEqual([200, undefined]);
    const page: Page = body;
    positions.push(...page.data.map(({ id }) => ids.indexOf(id)));
    total = page.meta.total;
    path = page.links.next;
  }
  return { positions, total };
}

const filter = (rules: object[]) => `filter=${encodeURIComponent(JSON.stringify(rules))}`;

describe('devices by their free space', () => {
  it.each<[object, number[]]>([
    [{ op: 'le', val: 3 }, [2, 4, 6, 7]],
    [{ op: 'gt', val: 12.5 }, [3, 8]],
    [{ op: 'eq', val: 3 }, [2, 4, 7]],
    [{ op: 'between', val: [3, 12.5] }, [0, 2, 4, 7]],
    [{ op: 'ne', val: 3 }, [0, 1, 3, 5, 6, 8]],
    [{ op: 'is', val: null }, [1, 5]],
    [{ op: 'isnot', val: null }, [0, 2, 3, 4, 6, 7, 8]],
    [{ op: 'ge', field: 'battery_level' }, []],
  ])('by %j alone, negated and with another rule', async (rule, expected) => {
    const ofFree = { name: 'available_device_capacity', ...rule };
    expect(await walk(filter([ofFree]))).toEqual({
      positions: expected,
      total: expected.length,
    });
    const others = FREE.map((_, position) => position).filter((one) => !expected.includes(one));
    expect(await walk(filter([{ not: ofFree }]))).toEqual({
      positions: others,
      total: others.length,
    });
    const both = filter([ofFree, { name: 'platform', op: 'eq', val: 'iOS' }]);
    expect((await walk(both)).positions).toEqual(expected.filter((one) => one % 2 === 0));
  });

  it('in their order, with a filter and without one', async () => {
    const upTo = filter([{ name: 'available_device_capacity', op: 'le', val: 40 }]);
    expect((await walk(`${upTo}&sort=available_device_capacity`)).positions).toEqual([
      6, 2, 4, 7, 0, 3,
    ]);
    expect((await walk('sort=-available_device_capacity')).positions).toEqual([
      8, 3, 0, 7, 4, 2, 6, 5, 1,
    ]);
  });

  it('follows what a device reports, and each record that is deleted', async () => {
    const { knex } = app.db;
    const [{ id }] = await knex('devices').insert({ serial_number: 'LEVELS' }).returning('id');
    const kept = () =>
      knex('device_levels')
        .where({ device_id: id })
        .select('battery_level', 'available_device_capacity', 'last_cloud_backup_date');
    expect(await kept()).toEqual([]);
    const nothing = { available_device_capacity: null, last_cloud_backup_date: null };
    await knex('devices').where({ id }).update({ battery_level: 0.25, device_name: 'x' });
    expect(await kept()).toEqual([{ ...nothing, battery_level: 0.25 }]);
    const date = new Date('2026-03-06T08:00:00Z');
    await knex('devices')
      .where({ id })
      .update({ battery_level: null, last_cloud_backup_date: date });
    expect(await kept()).toEqual([
      { ...nothing, battery_level: null, last_cloud_backup_date: date },
    ]);
    await knex('devices').where({ id }).delete();
    expect(await kept()).toEqual([]);
  });
});
