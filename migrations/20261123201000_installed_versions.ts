import type { Knex } from 'knex';

const UP = `
-- Which version the device has, beside installed_uuid: a version that is rendered with the facts of the
-- device has several UUIDs.
alter table device_items add column installed_version integer;
update device_items set installed_version = version
where lower(installed_uuid) = lower(payload_uuid);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table device_items drop column installed_version');
}
