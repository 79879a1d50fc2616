import fc from 'fast-check';
import { anyDevice, anyRule, type ModelDevice, type Truth } from './rule-model.js';
import { insertDevice, type SmartGroupTest, startSmartGroups } from './smart-group-helpers.js';

let test: SmartGroupTest;
beforeAll(async () => {
  test = await startSmartGroups();
  await test.app.db.knex('tags').insert([{ name: 'kiosk' }, { name: 'staff' }]);
});
afterAll(() => test.app.stop());

async function store({ facts, tags, applications, isListed }: ModelDevice): Promise<number> {
  const id = await insertDevice(test.app.db, { ...facts, applications_listed: isListed || null });
  await change(id, { tags, applications });
  return id;
}

async function change(
  id: number,
  { tags, applications }: Pick<ModelDevice, 'tags' | 'applications'>,
) {
  const { knex } = test.app.db;
  await knex('device_tags').where({ device_id: id }).delete();
  await knex('installed_applications').where({ device_id: id }).delete();
  const rows = await knex('tags').whereIn('name', tags).select('id');
  if (rows.length > 0) {
    await knex('device_tags').insert(rows.map((tag) => ({ device_id: id, tag_id: tag.id })));
  }
  if (applications.length > 0) {
    await knex('installed_applications').insert(
      applications.map((one) => ({ ...one, device_id: id })),
    );
  }
}

/** An unknown result leaves the membership as it was. */
const next = (was: boolean, truth: Truth) => truth ?? was;

describe('random rules over random facts', () => {
  it('decide as three-valued logic does, when they are saved and when facts change', async () => {
    const { knex } = test.app.db;
    const devices = fc.array(fc.tuple(anyDevice, anyDevice), { minLength: 3, maxLength: 6 });
    const rules = fc.array(anyRule, { minLength: 1, maxLength: 3 });
    const property = fc.asyncProperty(devices, rules, async (pairs, all) => {
      const ids: number[] = [];
      for (const [device] of pairs) ids.push(await store(device));
      const groups: number[] = [];
      for (const { json } of all) groups.push(await test.create([json]));
      for (const id of groups) await test.evaluate(id);
      const before = pairs.map(([device]) => all.map((rule) => rule.decide(device)));
      const membersOf = async () => Promise.all(groups.map((id) => test.members(id)));
      const unknownsOf = async () => Promise.all(groups.map((id) => test.unknowns(id)));
      const where = (truths: boolean[][]) =>
        groups.map((_, at) => ids.filter((_id, row) => truths[row]?.[at]));
      const first = before.map((row) => row.map((truth) => next(false, truth)));
      expect(await membersOf()).toEqual(where(first));
      expect(await unknownsOf()).toEqual(
        where(before.map((row) => row.map((truth) => truth === null))),
      );
      for (const [row, [, later]] of pairs.entries()) {
        const applications_listed = later.isListed || null;
        await knex('devices')
          .where({ id: ids[row] })
          .update({ ...later.facts, applications_listed });
        await change(ids[row] ?? 0, later);
      }
      await test.evaluateMarks();
      const after = pairs.map(([, later]) => all.map((rule) => rule.decide(later)));
      const then = after.map((row, index) =>
        row.map((truth, at) => next(first[index]?.[at] ?? false, truth)),
      );
      expect(await membersOf()).toEqual(where(then));
      expect(await unknownsOf()).toEqual(
        where(after.map((row) => row.map((truth) => truth === null))),
      );
      expect(await knex('smart_group_marks')).toEqual([]);
      for (const id of groups) await test.api.delete(`/device_groups/${id}`);
      await knex('devices').delete();
    });
    await fc.assert(property, { numRuns: 40 });
  }, 120_000);
});
