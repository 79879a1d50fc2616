import { insertDevice, type SmartGroupTest, startSmartGroups } from './smart-group-helpers.js';

let test: SmartGroupTest;
beforeEach(async () => {
  test = await startSmartGroups();
});
afterEach(() => test.app.stop());

const device = (row: object = {}) => insertDevice(test.app.db, row);
const knex = () => test.app.db.knex;
const marks = () => knex()('smart_group_marks').orderBy('id').select('device_id', 'facts');

describe('a relative time', () => {
  const DAY = 86_400_000;
  const ago = (days: number) => new Date(Date.now() - days * DAY);

  it('moves a device when the time has passed, found by its timer', async () => {
    const [seen, lost] = [
      await device({ last_seen: ago(29) }),
      await device({ last_seen: ago(31) }),
    ];
    const never = await device();
    const id = await test.create([{ name: 'last_seen', op: 'lt', val: 'P30D' }]);
    await test.evaluate(id);
    expect([await test.members(id), await test.unknowns(id)]).toEqual([[lost], [never]]);
    const timers = () => knex()('device_group_timers').select('device_id', 'due_at');
    const [timer] = await timers();
    expect(timer.device_id).toBe(seen);
    expect(Math.abs(timer.due_at - ago(-1).getTime())).toBeLessThan(60_000);
    await test.run('groups.times');
    expect(await marks()).toEqual([]);
    // Two days pass.
    await knex().raw(`update device_group_timers set due_at = due_at - interval '2 days'`);
    await knex().raw(`alter table devices disable trigger smart_group_contact`);
    await knex().raw(`update devices set last_seen = last_seen - interval '2 days'`);
    await knex().raw(`alter table devices enable trigger smart_group_contact`);
    await test.run('groups.times');
    expect(await marks()).toEqual([{ device_id: seen, facts: ['time'] }]);
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([seen, lost]);
    expect(await timers()).toEqual([]);
  });

  it('is evaluated again at the next contact after a long pause, and by no other', async () => {
    const [a, b] = [await device({ last_seen: ago(31) }), await device({ last_seen: ago(29) })];
    const id = await test.create([{ name: 'last_seen', op: 'lt', val: 'P30D' }]);
    await test.evaluate(id);
    expect(await test.members(id)).toEqual([a]);
    await knex()('devices').update({ last_seen: new Date() });
    expect(await marks()).toEqual([{ device_id: a, facts: ['last_seen'] }]);
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([]);
    const timers = await knex()('device_group_timers').orderBy('device_id').pluck('device_id');
    expect(timers).toEqual([a, b]);
    const first = await device();
    await test.evaluateMarks();
    await knex()('devices').where({ id: first }).update({ last_seen: new Date() });
    expect(await marks()).toEqual([{ device_id: first, facts: ['last_seen'] }]);
  });
});
