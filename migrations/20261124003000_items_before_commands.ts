import type { Knex } from 'knex';

const UP = `
-- An item is stored with the id of its command, and the command later in the same transaction.
alter table device_items alter constraint device_items_command_id_fkey deferrable initially deferred;

-- Found by the device also where a plan was made while the table was empty.
drop index custom_attributes_name;
create index custom_attributes_name on custom_attributes (name, device_id);
`;

const DOWN = `
alter table device_items alter constraint device_items_command_id_fkey not deferrable;
drop index custom_attributes_name;
create index custom_attributes_name on custom_attributes (name, value, id);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
