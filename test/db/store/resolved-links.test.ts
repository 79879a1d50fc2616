import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { noteListStatements } from '../../helpers/list-statements.js';

let app: TestApp;
let devices: number[];
beforeAll(async () => {
  app = await startApp();
  const { knex } = app.db;
  const rows = Array.from({ length: 4 }, (_, n) => ({ serial_number: `SERIAL${n}` }));
  devices = (await knex('devices').insert(rows).returning('id')).map(({ id }) => id);
  const names = ['lab', 'lab floor', 'kiosk', 'unused'].map((name) => ({ name }));
  const tags: { id: number }[] = await knex('tags').insert(names).returning('id');
  const link = (device: number, tag: number) => ({
    device_id: devices[device],
    tag_id: tags[tag]?.id,
  });
  await knex('device_tags').insert([link(0, 0), link(1, 1), link(2, 2), link(0, 2)]);
});
afterAll(() => app.stop());

interface Found {
  devices: number[];
  total: number;
  statements: string[];
}

async function find(rule: object, others: object[] = []): Promise<Found> {
  const statements: string[] = [];
  const end = noteListStatements(app.db, (sql) => statements.push(sql));
  const filter = encodeURIComponent(JSON.stringify([rule, ...others]));
  const { status, body } = await adminApi(app).get(`/devices?filter=${filter}`);
  end();
  expect(status).toBe(200);
  const found = body.data.map(({ id }: { id: number }) => devices.indexOf(id));
  return { devices: found, total: body.meta.total, statements };
}

const tagged = (val: object) => ({ name: 'tags', op: 'any', val });
const named = (val: string) => tagged({ name: 'name', op: 'eq', val });

describe('a filter across a join table', () => {
  it('finds the ids first, and then the rows that are linked to them', async () => {
    const { devices: found, total, statements } = await find(named('kiosk'));
    expect({ found, total }).toEqual({ found: [0, 2], total: 2 });
    expect(statements[0]).toMatch(/^select t0."id" from "tags" as t0 where .* limit 1001$/);
    expect(statements[1]).toContain(
      't0."id" in (select "device_id" from "device_tags" where "tag_id" = $1::bigint)',
    );
  });

  it('finds a row once that is linked to several, and none where no id is found', async () => {
    const floors = tagged({ name: 'name', op: 'like', val: '%' });
    expect(await find(floors)).toMatchObject({ devices: [0, 1, 2], total: 3 });
    expect(await find(tagged({ name: 'name', op: 'startswith', val: 'lab' }))).toMatchObject({
      devices: [0, 1],
      total: 2,
    });
    expect(await find(named('no such tag'))).toMatchObject({ devices: [], total: 0 });
    expect(await find(named('unused'))).toMatchObject({ devices: [], total: 0 });
  });

  it('holds beside other rules, and negated', async () => {
    const serial = { name: 'serial_number', op: 'eq', val: 'SERIAL2' };
    expect((await find(named('kiosk'), [serial])).devices).toEqual([2]);
    expect((await find(named('kiosk'), [named('lab')])).devices).toEqual([0]);
    expect((await find({ not: named('kiosk') })).devices).toEqual([1, 3]);
    expect((await find({ or: [named('kiosk'), named('lab floor')] })).devices).toEqual([0, 1, 2]);
  });
});
