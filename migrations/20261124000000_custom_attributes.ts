import type { Knex } from 'knex';

const UP = `
-- What admins note of a device under names of their own: for $ATTRIBUTE_name in profiles, and for rules.
create table custom_attributes (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices (id) on delete cascade,
  name text not null check (name ~ '^[A-Za-z0-9_]+$'),
  value text not null check (value <> ''),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (device_id, name)
);
create index custom_attributes_name on custom_attributes (name, value, id);

create trigger smart_group_custom_attributes_insert after insert on custom_attributes
  referencing new table as changed
  for each statement execute function mark_linked_devices('custom_attributes');
create trigger smart_group_custom_attributes_delete after delete on custom_attributes
  referencing old table as changed
  for each statement execute function mark_linked_devices('custom_attributes');
create trigger smart_group_custom_attributes_update after update on custom_attributes
  referencing new table as changed old table as former
  for each statement execute function mark_updated_devices('custom_attributes');

create function mark_devices_of_attributes() returns trigger language plpgsql as $$
begin
  insert into reconcile_marks (device_id)
  select distinct c.device_id from changed c join devices d on d.id = c.device_id
  where d.is_enrolled and exists (
    select from profile_versions v
    where v.is_rendered and v.variables @> array['ATTRIBUTE_' || c.name]);
  return null;
end $$;
create trigger custom_attributes_variables_added after insert on custom_attributes
  referencing new table as changed
  for each statement execute function mark_devices_of_attributes();
create trigger custom_attributes_variables_removed after delete on custom_attributes
  referencing old table as changed
  for each statement execute function mark_devices_of_attributes();
create trigger custom_attributes_variables_changed after update on custom_attributes
  referencing new table as changed
  for each statement execute function mark_devices_of_attributes();
create trigger custom_attributes_variables_moved after update on custom_attributes
  referencing old table as changed
  for each statement execute function mark_devices_of_attributes();
`;

const DOWN = `
drop table custom_attributes;
drop function mark_devices_of_attributes;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
