import type { Knex } from 'knex';

// Every enrollment profile of Muster grants all rights. Without a check, which would read the table, and a
// constant is a default that does not rewrite it. A rule of a smart group may name the column: a change is marked.
const UP = `
alter table devices add column access_rights integer default 8191;

create function mark_access_rights() returns trigger language plpgsql as $$
begin
  insert into smart_group_marks (device_id, facts)
  select new.id, '{access_rights}' from smart_group_state s where s.facts @> '{access_rights}';
  return null;
end
$$;
create trigger smart_group_access_rights after update of access_rights on devices
  for each row when (old.access_rights is distinct from new.access_rights)
  execute function mark_access_rights();
`;

const DOWN = `
drop trigger smart_group_access_rights on devices;
drop function mark_access_rights();
alter table devices drop column access_rights;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
