import type { Knex } from 'knex';

const UP = `
-- The device has left a smart group: nobody has confirmed what it loses by that.
alter table reconcile_marks add column left_by_rule boolean not null default false;

-- Many devices lost the profile in that way within an hour: the others keep it until an admin goes on.
alter table profiles add column removals_paused_at timestamptz;

-- What devices lost in that way, of the last hour.
create table item_losses (
  profile_id bigint not null,
  device_id bigint not null,
  lost_at timestamptz not null default now()
);
create index item_losses_profile on item_losses (profile_id, lost_at);

create function mark_left_devices() returns trigger language plpgsql as $$
declare
  first bigint;
begin
  with added as (
    insert into reconcile_marks (device_id, left_by_rule)
    select c.device_id, coalesce(bool_or(g.kind = 'smart'), false)
    from changed c left join device_groups g on g.id = c.device_group_id
    group by c.device_id
    returning id
  )
  select min(id) into first from added;
  perform note_marks(first);
  return null;
end $$;
drop trigger device_group_devices_removed on device_group_devices;
create trigger device_group_devices_removed after delete on device_group_devices
  referencing old table as changed for each statement execute function mark_left_devices();

drop trigger profiles_changed on profiles;
create trigger profiles_changed after update on profiles for each row
  when (new.current_version <> old.current_version
    or new.active_version is distinct from old.active_version
    or new.paused_at is distinct from old.paused_at
    or new.removals_paused_at is null and old.removals_paused_at is not null)
  execute function mark_profile();
`;

const DOWN = `
drop trigger device_group_devices_removed on device_group_devices;
create trigger device_group_devices_removed after delete on device_group_devices
  referencing old table as changed for each statement execute function mark_changed_devices();
drop function mark_left_devices;
drop trigger profiles_changed on profiles;
create trigger profiles_changed after update on profiles for each row
  when (new.current_version <> old.current_version
    or new.active_version is distinct from old.active_version
    or new.paused_at is distinct from old.paused_at)
  execute function mark_profile();
drop table item_losses;
alter table profiles drop column removals_paused_at;
alter table reconcile_marks drop column left_by_rule;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
