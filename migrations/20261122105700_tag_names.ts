import type { Knex } from 'knex';

type Report = (details: object, message: string) => void;

interface Tag {
  id: string | number;
  name: string;
  key: string;
}

const MAX_NAME = 255;
/** As the program names itself in the audit trail. */
const SYSTEM = { actor: 'system', role: 'system' };

/** Names differ in more than their case from now on: of two that do not, the newer gets a number. */
export async function up(knex: Knex, report: Report): Promise<void> {
  await knex.raw('lock table tags in share row exclusive mode');
  await renameDoubles(knex, report);
  await knex.raw('alter table tags drop constraint tags_name_unique');
  await knex.raw('create unique index tags_name_unique on tags (lower(name))');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index tags_name_unique');
  await knex.raw('alter table tags add constraint tags_name_unique unique (name)');
}

async function renameDoubles(knex: Knex, report: Report): Promise<void> {
  const tags: Tag[] = await knex('tags').select('id', 'name', keyOf(knex, 'name')).orderBy('id');
  const taken = new Set(tags.map(({ key }) => key));
  const seen = new Set<string>();
  for (const { id, name, key } of tags) {
    if (seen.has(key)) {
      const renamed = await freeName(knex, name, taken);
      await rename(knex, { id, name }, renamed);
      report({ tag: Number(id), before: name, after: renamed }, 'tag renamed: its name exists');
    }
    seen.add(key);
  }
}

function keyOf(knex: Knex, name: string): Knex.Raw {
  return knex.raw('lower(??) as key', [name]);
}

async function freeName(knex: Knex, name: string, taken: Set<string>): Promise<string> {
  for (let number = 2; ; number += 1) {
    const suffix = ` (${number})`;
    // Not in the middle of a character.
    const start = [...name].slice(0, MAX_NAME - suffix.length).join('');
    const candidate = `${start}${suffix}`;
    const { rows } = await knex.raw<{ rows: { key: string }[] }>('select lower(?) as key', [
      candidate,
    ]);
    const key = rows[0]?.key ?? candidate;
    if (taken.has(key)) continue;
    taken.add(key);
    return candidate;
  }
}

async function rename(
  knex: Knex,
  { id, name }: Pick<Tag, 'id' | 'name'>,
  renamed: string,
): Promise<void> {
  await knex('tags').where({ id }).update({ name: renamed });
  const details = JSON.stringify({ changes: { name: [name, renamed] } });
  const target = { target_type: 'tags', target_id: String(id) };
  await knex('audit_events').insert({ ...SYSTEM, ...target, action: 'tags.update', details });
}
