import type { Knex } from 'knex';

const UP = `
-- Other marks of the device may be taken before the one that says why.
create index reconcile_marks_left on reconcile_marks (device_id) where left_by_rule;

-- A device that joins a smart group loses what the group is excluded from.
create function mark_added_devices() returns trigger language plpgsql as $$
declare
  first bigint;
begin
  with added as (
    insert into reconcile_marks (device_id, left_by_rule)
    select c.device_id, coalesce(bool_or(g.kind = 'smart' and exists (
      select from assignments a where a.device_group_id = g.id and a.mode = 'exclude')), false)
    from changed c left join device_groups g on g.id = c.device_group_id
    group by c.device_id
    returning id
  )
  select min(id) into first from added;
  perform note_marks(first);
  return null;
end $$;
drop trigger device_group_devices_added on device_group_devices;
create trigger device_group_devices_added after insert on device_group_devices
  referencing new table as changed for each statement execute function mark_added_devices();
`;

const DOWN = `
drop trigger device_group_devices_added on device_group_devices;
create trigger device_group_devices_added after insert on device_group_devices
  referencing new table as changed for each statement execute function mark_changed_devices();
drop function mark_added_devices;
drop index reconcile_marks_left;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
