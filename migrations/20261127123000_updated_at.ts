import type { Knex } from 'knex';

// null: not since this column exists. A trigger, since several statements write these tables.
const UP = `
create function set_updated_at() returns trigger language plpgsql as $$
begin
  new.updated_at := now();
  return new;
end $$;

alter table tags add column updated_at timestamptz;
alter table tags alter column updated_at set default now();
create trigger tags_updated_at before update of name, color on tags
  for each row when (old.* is distinct from new.*) execute function set_updated_at();

alter table device_groups add column updated_at timestamptz;
alter table device_groups alter column updated_at set default now();
create trigger device_groups_updated_at before update of name, description, rule on device_groups
  for each row when (old.* is distinct from new.*) execute function set_updated_at();
`;

const DOWN = `
drop trigger device_groups_updated_at on device_groups;
alter table device_groups drop column updated_at;
drop trigger tags_updated_at on tags;
alter table tags drop column updated_at;
drop function set_updated_at();
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
