import type { Knex } from 'knex';

// Read like columns, by functional notation: t.devices_count is devices_count(t) where t has no such column.
// Only a client that asks for a count pays for it.
const UP = `
create function devices_count(tags) returns integer language sql stable parallel safe as
  'select count(*)::integer from device_tags where tag_id = $1.id';
create function devices_count(device_groups) returns integer language sql stable parallel safe as
  'select count(*)::integer from device_group_devices where device_group_id = $1.id';
create function pending_commands(devices) returns integer language sql stable parallel safe as
  'select count(*)::integer from commands where device_id = $1.id and is_pending';
`;

const DOWN = `
drop function pending_commands(devices);
drop function devices_count(device_groups);
drop function devices_count(tags);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
