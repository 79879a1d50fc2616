import { claimMarks } from '../../src/db/groups/group-marks.js';
import { lockEvaluation } from '../../src/db/groups/smart-group-state.js';
import { insertDevice, type SmartGroupTest, startSmartGroups } from './smart-group-helpers.js';

let test: SmartGroupTest;
beforeEach(async () => {
  test = await startSmartGroups();
});
afterEach(() => test.app.stop());

const device = (row: object = {}) => insertDevice(test.app.db, row);
const knex = () => test.app.db.knex;
const isOld = [{ name: 'os_version', op: 'lt', val: '18' }];
const setVersion = (id: number, os_version: string | null) =>
  knex()('devices').where({ id }).update({ os_version });
const countMarks = async () => (await knex()('smart_group_marks')).length;
const flaps = () => knex()('group_flaps').orderBy('device_id');

describe('workers of several processes', () => {
  it('lose no mark while facts change beside them', async () => {
    const ids: number[] = [];
    for (let index = 0; index < 30; index += 1) ids.push(await device({ os_version: '17' }));
    const id = await test.create(isOld);
    await test.evaluate(id);
    const [one, other] = [test.worker(), test.worker()];
    let isChanging = true;
    const evaluate = async (worker: typeof one) => {
      while (isChanging) await worker.evaluateAll();
    };
    const change = async (part: number[]) => {
      for (let round = 0; round < 10; round += 1) {
        for (const each of part) await setVersion(each, (each + round) % 3 === 0 ? '17.1' : '18.2');
      }
      isChanging = false;
    };
    await Promise.all([
      evaluate(one),
      evaluate(other),
      change(ids.slice(0, 15)),
      change(ids.slice(15)),
    ]);
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual(ids.filter((each) => (each + 9) % 3 === 0));
    expect(await countMarks()).toBe(0);
  });

  it('that die in the middle leave the marks to the next', async () => {
    const a = await device({ os_version: '17' });
    const id = await test.create(isOld);
    await test.evaluate(id);
    await test.evaluateMarks();
    await setVersion(a, '18');
    const dying = knex().transaction(async (trx) => {
      await lockEvaluation(trx);
      expect(await claimMarks(trx, 10)).toEqual([{ deviceId: a, facts: ['os_version'] }]);
      const { rows } = await trx.raw('select pg_backend_pid() as pid');
      await knex().raw('select pg_terminate_backend(?)', [rows[0].pid]);
      await trx('device_group_devices').delete();
    });
    await expect(dying).rejects.toThrow();
    expect([await countMarks(), await test.members(id)]).toEqual([1, [a]]);
    await test.evaluateMarks();
    expect([await countMarks(), await test.members(id)]).toEqual([0, []]);
  });

  it('evaluate one after another', async () => {
    const a = await device({ os_version: '17' });
    const id = await test.create(isOld);
    let isEvaluated = false;
    let evaluating: Promise<void> = Promise.resolve();
    await knex().transaction(async (trx) => {
      await lockEvaluation(trx);
      evaluating = test.evaluate(id).then(() => {
        isEvaluated = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(isEvaluated).toBe(false);
    });
    await evaluating;
    expect(await test.members(id)).toEqual([a]);
  });
});

describe('a rule that is saved', () => {
  it('sees what a transaction changed that began before it and left no mark', async () => {
    const a = await device({ os_version: '18' });
    const before = await knex().transaction();
    await before('devices').where({ id: a }).update({ os_version: '17' });
    const id = await test.create(isOld);
    let isEvaluated = false;
    const evaluating = test.evaluate(id).then(() => {
      isEvaluated = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isEvaluated).toBe(false);
    await before.commit();
    await evaluating;
    expect([await countMarks(), await test.members(id)]).toEqual([0, [a]]);
  });

  it('leaves a mark of what changes while it is evaluated', async () => {
    const a = await device({ os_version: '18' });
    const id = await test.create(isOld);
    const open = await knex().transaction();
    // It began before the evaluation, but after the rule was saved.
    await open('tags').insert({ name: 'with a number of its own' });
    const evaluating = test.evaluate(id);
    await open('devices').where({ id: a }).update({ os_version: '17' });
    await open.commit();
    await evaluating;
    await test.evaluateMarks();
    expect(await test.members(id)).toEqual([a]);
  });

  it('keeps its place when it is changed in the middle of a chunk', async () => {
    await device({ os_version: '17' });
    const id = await test.create(isOld);
    const holder = await knex().transaction();
    // Without a number of its own: the evaluation waits for transactions that have one first.
    await holder.raw('lock table device_group_devices in share mode');
    const evaluating = test.evaluate(id);
    const waiting = `select from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`;
    while ((await knex().raw(waiting)).rowCount === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await test.change(id, [{ name: 'os_version', op: 'lt', val: '16' }]);
    await holder.rollback();
    await evaluating;
    expect(await knex()('device_groups').where({ id }).first()).toMatchObject({
      ...{ rule_number: 2, evaluated_at: null, evaluated_to: 0, evaluated_devices: 0 },
    });
    await test.evaluate(id);
    expect(await test.members(id)).toEqual([]);
  });

  it('that cannot be read or evaluated stops no other', async () => {
    const far = '294270-01-01T00:00:00Z';
    const a = await device({ os_version: '17' });
    const unread = JSON.stringify([{ name: 'no_such_fact', op: 'eq', val: 1 }]);
    await knex()('device_groups').insert({ name: 'of the past', kind: 'smart', rule: unread });
    await test.create([{ name: 'enrolled_at', op: 'gt', val: 'P521W' }], 'too far');
    const id = await test.create(isOld);
    await test.evaluate(id);
    expect(await test.members(id)).toEqual([a]);
    await knex().raw('update devices set os_version = ?, enrolled_at = ? where id = ?', [
      '18',
      far,
      a,
    ]);
    await test.evaluateMarks();
    expect([await countMarks(), await test.members(id)]).toEqual([0, []]);
    expect(test.logText()).toContain(
      "smart group of the past: the rule can't be read, its members stay",
    );
    expect(test.logText()).toContain('smart group too far: the rule could not be evaluated');
  });
});

describe('a device that joins and leaves a group', () => {
  async function toggle(id: number, times: number) {
    for (let index = 0; index < times; index += 1) {
      await setVersion(id, index % 2 === 0 ? '18' : '17');
      await test.evaluateMarks();
    }
  }

  it('three times within an hour flaps, until it keeps still for an hour', async () => {
    const [a, b] = [await device({ os_version: '17' }), await device({ os_version: '17' })];
    const id = await test.create(isOld, 'old ones');
    await test.evaluate(id);
    await test.evaluateMarks();
    await toggle(a, 2);
    await toggle(b, 2);
    expect(await flaps()).toEqual([]);
    await toggle(a, 1);
    const [flap, ...others] = await flaps();
    expect(others).toEqual([]);
    expect(flap).toMatchObject({ device_id: a, device_group_id: id });
    expect(flap.until - flap.since).toBe(3_600_000);
    const { body } = await test.api.get(`/device_groups/${id}/flapping_devices`);
    expect(body.data).toMatchObject([{ type: 'devices', id: a }]);
    expect(test.logText()).toContain(`device ${a} flaps in smart group old ones`);
    await setVersion(a, '17');
    await test.evaluateMarks();
    const [later] = await flaps();
    expect(later.since).toEqual(flap.since);
    expect(later.until.getTime()).toBeGreaterThan(flap.until.getTime());
    await test.run('groups.flaps');
    expect(await flaps()).toHaveLength(1);
    await knex().raw(`update group_flaps set until = now() - interval '1 second'`);
    await test.run('groups.flaps');
    expect(await flaps()).toEqual([]);
  });

  it('more slowly than that does not flap, nor does one that a changed rule moves', async () => {
    const a = await device({ os_version: '17' });
    const id = await test.create(isOld);
    await test.evaluate(id);
    await test.evaluateMarks();
    await toggle(a, 2);
    await knex().raw(
      `update device_group_changes set changed_at = changed_at - interval '61 minutes'`,
    );
    await test.run('groups.flaps');
    expect(await knex()('device_group_changes')).toEqual([]);
    await toggle(a, 2);
    for (const val of ['16', '18', '16', '18']) {
      await test.change(id, [{ name: 'os_version', op: 'lt', val }]);
      await test.evaluate(id);
    }
    expect(await flaps()).toEqual([]);
  });
});
