import { down, up } from '../../../migrations/20261122105700_tag_names.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

async function upgrade(names: string[]) {
  const { knex } = database.db;
  await knex.transaction((trx) => down(trx));
  const rows = names.map((name) => ({ name }));
  const ids = (await knex('tags').insert(rows).returning('id')).map(({ id }) => Number(id));
  const lines: [details: object, message: string][] = [];
  await knex.transaction((trx) => up(trx, (...line) => lines.push(line)));
  return { ids, lines, names: await knex('tags').orderBy('id').pluck<string[]>('name') };
}

describe('the upgrade to names of tags that ignore case', () => {
  it('renames the newer of two tags, logs it and audits it', async () => {
    const { ids, lines, names } = await upgrade(['Foo', 'bar', 'foo']);
    expect(names).toEqual(['Foo', 'bar', 'foo (2)']);
    expect(lines).toEqual([
      [{ tag: ids[2], before: 'foo', after: 'foo (2)' }, 'tag renamed: its name exists'],
    ]);
    const [event] = await database.db.knex('audit_events');
    expect(event).toMatchObject({
      actor: 'system',
      action: 'tags.update',
      outcome: 'success',
      target_type: 'tags',
      target_id: `${ids[2]}`,
      details: { changes: { name: ['foo', 'foo (2)'] } },
    });
    await expect(database.db.knex('tags').insert({ name: 'FOO' })).rejects.toMatchObject({
      code: '23505',
    });
  });

  it('chooses unused names, and leaves all other tags unchanged', async () => {
    const long = 'x'.repeat(255);
    const given = ['foo', 'FOO', 'foo (2)', 'Foo', long, long.toUpperCase(), 'alone'];
    const { names } = await upgrade(given);
    const shortened = `${'X'.repeat(251)} (2)`;
    expect(names).toEqual(['foo', 'FOO (3)', 'foo (2)', 'Foo (4)', long, shortened, 'alone']);
  });

  it('renames nothing if no two tags are the same', async () => {
    const { lines, names } = await upgrade(['a', 'b']);
    expect([lines, names]).toEqual([[], ['a', 'b']]);
    expect(await database.db.knex('audit_events')).toEqual([]);
  });
});
