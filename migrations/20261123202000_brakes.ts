import type { Knex } from 'knex';

const UP = `
-- Which marks a transaction has written itself: a write by an admin is weighed by them before its commit.
alter table reconcile_marks add column transaction_id xid8 not null default pg_current_xact_id();
alter table reconcile_item_marks add column transaction_id xid8 not null default pg_current_xact_id();

create function note_marks(first bigint) returns void language plpgsql as $$
begin
  if first is not null and coalesce(current_setting('muster.first_mark', true), '') = '' then
    perform set_config('muster.first_mark', first::text, true);
  end if;
end $$;

create or replace function mark_changed_devices() returns trigger language plpgsql as $$
declare
  first bigint;
begin
  with added as (
    insert into reconcile_marks (device_id) select distinct device_id from changed returning id
  )
  select min(id) into first from added;
  perform note_marks(first);
  return null;
end $$;

create or replace function mark_assigned(profile bigint, device bigint) returns void
language plpgsql as $$
declare
  first bigint;
begin
  if device is null then
    insert into reconcile_item_marks (profile_id) values (profile);
    perform set_config('muster.marked_items', 'yes', true);
  else
    insert into reconcile_marks (device_id) values (device) returning id into first;
    perform note_marks(first);
  end if;
end $$;

create or replace function mark_profile() returns trigger language plpgsql as $$
begin
  insert into reconcile_item_marks (profile_id) values (old.id);
  perform set_config('muster.marked_items', 'yes', true);
  return null;
end $$;
`;

const DOWN = `
create or replace function mark_changed_devices() returns trigger language plpgsql as $$
begin
  insert into reconcile_marks (device_id) select distinct device_id from changed;
  return null;
end $$;
create or replace function mark_assigned(profile bigint, device bigint) returns void
language plpgsql as $$
begin
  if device is null then
    insert into reconcile_item_marks (profile_id) values (profile);
  else
    insert into reconcile_marks (device_id) values (device);
  end if;
end $$;
create or replace function mark_profile() returns trigger language plpgsql as $$
begin
  insert into reconcile_item_marks (profile_id) values (old.id);
  return null;
end $$;
drop function note_marks;
alter table reconcile_marks drop column transaction_id;
alter table reconcile_item_marks drop column transaction_id;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
