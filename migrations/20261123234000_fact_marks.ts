import type { Knex } from 'knex';

const UP = `
-- The device has reported something that decides what it can have: what has failed is tried again.
alter table reconcile_marks add column has_new_facts boolean not null default false;

create or replace function mark_device() returns trigger language plpgsql as $$
begin
  insert into reconcile_marks (device_id, has_new_facts) values (new.id, true);
  return null;
end $$;
`;

const DOWN = `
create or replace function mark_device() returns trigger language plpgsql as $$
begin
  insert into reconcile_marks (device_id) values (new.id);
  return null;
end $$;
alter table reconcile_marks drop column has_new_facts;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
