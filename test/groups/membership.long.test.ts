import { insertDevice, type SmartGroupTest, startSmartGroups } from './smart-group-helpers.js';

let test: SmartGroupTest;
beforeAll(async () => {
  test = await startSmartGroups();
});
afterAll(() => test.app.stop());
afterEach(async () => {
  const { knex } = test.app.db;
  await test.evaluateMarks();
  await knex('device_groups').delete();
  await knex('devices').delete();
  await knex('tags').delete();
  await knex('smart_group_marks').delete();
  await knex.raw(`update smart_group_state set version = version + 1, facts = '{}'`);
});

const device = (row: object = {}) => insertDevice(test.app.db, row);
const knex = () => test.app.db.knex;
const marks = () => knex()('smart_group_marks').orderBy('id').select('device_id', 'facts');

async function application(
  device_id: number,
  bundle_identifier: string,
  short_version: string | null,
) {
  await knex()('installed_applications').insert({ device_id, bundle_identifier, short_version });
}

const older = (identifier: string, version: string) => ({
  name: 'installed_applications',
  op: 'any',
  val: {
    and: [
      { name: 'bundle_identifier', op: 'eq', val: identifier },
      { name: 'short_version', op: 'lt', val: version },
    ],
  },
});

describe('a saved rule', () => {
  it('is evaluated for all devices, in chunks', async () => {
    await knex().raw(`insert into devices (serial_number, os_version)
      select 'S' || n, case when n % 3 = 0 then '17.' || n % 7 when n % 3 = 1 then '18.0' end
      from generate_series(1, 4500) n`);
    const id = await test.create([{ name: 'os_version', op: 'lt', val: '18' }]);
    await test.evaluate(id);
    const below = await knex()('devices')
      .where('os_version', 'like', '17.%')
      .orderBy('id')
      .pluck('id');
    const silent = await knex()('devices').whereNull('os_version').orderBy('id').pluck('id');
    expect([below.length, silent.length]).toEqual([1500, 1500]);
    expect(await test.members(id)).toEqual(below);
    expect(await test.unknowns(id)).toEqual(silent);
    const { body } = await test.api.get(`/device_groups/${id}`);
    expect(body.data.attributes).toMatchObject({
      evaluated_devices: 4500,
      evaluated_at: expect.any(String),
    });
    const list = await test.api.get(`/device_groups/${id}/unknown_devices?page[size]=1`);
    expect(list.body.meta).toMatchObject({ total: 1500 });
  });

  it('of a former number is evaluated no more', async () => {
    const a = await device({ model: 'a' });
    const id = await test.create([{ name: 'model', op: 'eq', val: 'a' }]);
    await test.evaluate(id);
    await test.change(id, [{ name: 'model', op: 'eq', val: 'b' }]);
    const row = await knex()('device_groups').where({ id }).first();
    expect([row.rule_number, row.evaluated_at, row.evaluated_devices]).toEqual([2, null, 0]);
    expect(await test.members(id)).toEqual([a]);
    await test.evaluate(id);
    expect(await test.members(id)).toEqual([]);
  });
});

describe('a change of a fact', () => {
  it('leaves no mark while no rule mentions the fact', async () => {
    const id = await device({ model: 'a', os_version: '17' });
    await knex()('devices').where({ id }).update({ os_version: '18' });
    expect(await marks()).toEqual([]);
    const group = await test.create([{ name: 'model', op: 'eq', val: 'a' }]);
    await knex()('devices').where({ id }).update({ os_version: '17', last_seen: new Date() });
    await knex()('devices').where({ id }).update({ model: 'a' });
    expect(await marks()).toEqual([]);
    await knex()('devices').where({ id }).update({ model: 'b', os_version: '18' });
    expect(await marks()).toEqual([{ device_id: id, facts: ['model', 'os_version'] }]);
    await test.api.delete(`/device_groups/${group}`);
    await knex()('devices').where({ id }).update({ model: 'c' });
    expect(await marks()).toHaveLength(1);
  });

  it('moves the device to the other side, and only that one', async () => {
    const [a, b] = [await device({ os_version: '17.5' }), await device({ os_version: '17.5' })];
    const id = await test.create([{ name: 'os_version', op: 'lt', val: '18' }]);
    await test.evaluate(id);
    expect(await test.members(id)).toEqual([a, b]);
    await knex()('devices').where({ id: a }).update({ os_version: '18.0' });
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([b]);
    expect(await marks()).toEqual([]);
  });

  it('to unknown leaves the device where it is, and is shown', async () => {
    const [a, b] = [await device({ os_version: '17' }), await device({ os_version: '18' })];
    const id = await test.create([{ not: { name: 'os_version', op: 'ge', val: '18' } }]);
    await test.evaluate(id);
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[a], []]);
    await knex()('devices').whereIn('id', [a, b]).update({ os_version: null });
    await test.evaluateMarks();
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[a], [a, b]]);
    await knex()('devices').where({ id: a }).update({ os_version: '18' });
    await test.evaluateMarks();
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[], [b]]);
  });

  it('to null has a known result when the rule tests for null or uses is', async () => {
    const [none, no] = [await device({}), await device({ is_supervised: false })];
    const yes = await device({ is_supervised: true });
    const groups = [
      await test.create([{ name: 'is_supervised', op: 'isnot', val: true }]),
      await test.create([{ name: 'is_supervised', op: 'is_', val: null }]),
      await test.create([{ name: 'is_supervised', op: 'ne', val: true }]),
    ];
    for (const id of groups) await test.evaluate(id);
    const found = await Promise.all(
      groups.map(async (id) => [await test.members(id), await test.unknowns(id)]),
    );
    expect(found).toEqual([
      [[none, no], []],
      [[none], []],
      [[no], [none]],
    ]);
    expect(yes).toBeGreaterThan(no);
  });

  it('of a new device is evaluated for every rule', async () => {
    const id = await test.create([{ name: 'model', op: 'eq', val: 'a' }]);
    const a = await device({ model: 'a' });
    expect(await marks()).toEqual([{ device_id: a, facts: ['*'] }]);
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([a]);
  });

  it('of a deleted device is ignored', async () => {
    const id = await test.create([{ name: 'model', op: 'eq', val: 'a' }]);
    const a = await device({ model: 'a' });
    await knex()('devices').where({ id: a }).delete();
    const b = await device({ model: 'a' });
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([b]);
  });
});

describe('a rule over tags', () => {
  it('follows tags that are added, removed, renamed and deleted', async () => {
    const [a, b] = [await device(), await device()];
    const [{ id: tag }] = await knex()('tags').insert({ name: 'kiosk' }).returning('id');
    const id = await test.create([{ name: 'tags__name', op: 'eq', val: 'kiosk' }]);
    await test.evaluate(id);
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[], []]);
    await knex()('device_tags').insert([
      { device_id: a, tag_id: tag },
      { device_id: b, tag_id: tag },
    ]);
    expect(await marks()).toEqual([
      { device_id: a, facts: ['tags'] },
      { device_id: b, facts: ['tags'] },
    ]);
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([a, b]);
    await knex()('device_tags').where({ device_id: a }).delete();
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([b]);
    await knex()('tags').where({ id: tag }).update({ name: 'other' });
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([]);
    await knex()('tags').where({ id: tag }).update({ name: 'kiosk' });
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([b]);
    await knex()('tags').where({ id: tag }).delete();
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([]);
  });
});

describe('a rule over groups', () => {
  it('follows custom attributes, which are never unknown', async () => {
    const [here, elsewhere, none] = [await device(), await device(), await device()];
    const inRoom = (value: string) => ({
      name: 'custom_attributes',
      op: 'any',
      val: {
        and: [
          { name: 'name', op: 'eq', val: 'room' },
          { name: 'value', op: 'eq', val: value },
        ],
      },
    });
    await knex()('custom_attributes').insert([
      { device_id: here, name: 'room', value: '1' },
      { device_id: elsewhere, name: 'room', value: '2' },
      { device_id: elsewhere, name: 'desk', value: '1' },
    ]);
    const id = await test.create([inRoom('1')]);
    const others = await test.create([{ not: inRoom('1') }]);
    await test.evaluate(id);
    await test.evaluate(others);
    expect([await test.members(id), await test.members(others)]).toEqual([
      [here],
      [elsewhere, none],
    ]);
    const own = knex()('custom_attributes').where({ device_id: here });
    await own.clone().update({ value: '2' });
    await test.evaluateMarks();
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[], []]);
    await knex()('custom_attributes').insert({ device_id: none, name: 'room', value: '1' });
    await own.clone().update({ device_id: here, value: '1' });
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([here, none]);
    await own.clone().delete();
    await test.evaluateMarks();
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[none], []]);
    expect(await test.members(others)).toEqual([here, elsewhere]);
  });

  it('follows static and smart groups, through several rules', async () => {
    const [a, b] = [await device({ model: 'a' }), await device({ model: 'b' })];
    const [{ id: byHand }] = await knex()('device_groups')
      .insert({ name: 'by hand' })
      .returning('id');
    const smart = await test.create([{ name: 'model', op: 'eq', val: 'a' }]);
    const both = await test.create([
      {
        or: [
          { name: 'device_groups__id', op: 'eq', val: byHand },
          { name: 'device_groups__id', op: 'eq', val: smart },
        ],
      },
    ]);
    const rest = await test.create([{ not: { name: 'device_groups__id', op: 'eq', val: both } }]);
    for (const id of [rest, both, smart]) await test.evaluate(id);
    await test.evaluateMarks();
    expect([await test.members(both), await test.members(rest)]).toEqual([[a], [b]]);
    await knex()('device_group_devices').insert({ device_group_id: byHand, device_id: b });
    await knex()('devices').where({ id: a }).update({ model: 'z' });
    await test.evaluateMarks();
    expect([await test.members(both), await test.members(rest)]).toEqual([[b], [a]]);
    await knex()('device_groups').where({ id: byHand }).delete();
    await test.evaluateMarks();
    expect([await test.members(both), await test.members(rest)]).toEqual([[], [a, b]]);
  });
});

describe('a rule over installed applications', () => {
  it('compares identifier and version of the same one', async () => {
    const [old, recent, mixed] = [await device(), await device(), await device()];
    await application(old, 'com.example.app', '2.9.1');
    await application(recent, 'com.example.app', '2.10');
    await application(mixed, 'com.example.app', '3.0');
    await application(mixed, 'com.example.other', '1.0');
    const id = await test.create([older('com.example.app', '2.10')]);
    await test.evaluate(id);
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[old], []]);
    await knex()('installed_applications')
      .where({ device_id: old })
      .update({ short_version: '2.10.1' });
    await knex()('installed_applications').where({ device_id: recent }).delete();
    await application(recent, 'com.example.app', '1');
    expect(await marks()).toEqual([
      { device_id: old, facts: ['installed_applications'] },
      { device_id: recent, facts: ['installed_applications'] },
      { device_id: recent, facts: ['installed_applications'] },
    ]);
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([recent]);
  });

  it('is unknown for a version that was not reported, and before the first list', async () => {
    const [silent, never, empty, other] = [
      await device(),
      await device(),
      await device(),
      await device(),
    ];
    await application(silent, 'com.example.app', null);
    await application(other, 'com.example.other', null);
    await knex()('devices').where({ id: empty }).update({ applications_listed: true });
    const groups = [
      await test.create([older('com.example.app', '2')]),
      await test.create([
        {
          not: {
            name: 'installed_applications__bundle_identifier',
            op: 'eq',
            val: 'com.example.app',
          },
        },
      ]),
    ];
    for (const id of groups) await test.evaluate(id);
    const [below = 0, absent = 0] = groups;
    expect([await test.members(below), await test.unknowns(below)]).toEqual([[], [silent, never]]);
    expect([await test.members(absent), await test.unknowns(absent)]).toEqual([
      [empty, other],
      [never],
    ]);
    await knex()('devices').where({ id: never }).update({ applications_listed: true });
    await test.evaluateMarks();
    expect([await test.members(absent), await test.unknowns(absent)]).toEqual([
      [never, empty, other],
      [],
    ]);
  });
});
