import type { Knex } from 'knex';

const UP = `
-- While a device flaps its items are paused: both ends of that are looked at.
create trigger group_flaps_added after insert on group_flaps
  referencing new table as changed for each statement execute function mark_changed_devices();
create trigger group_flaps_removed after delete on group_flaps
  referencing old table as changed for each statement execute function mark_changed_devices();
`;

const DOWN = `
drop trigger group_flaps_added on group_flaps;
drop trigger group_flaps_removed on group_flaps;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
