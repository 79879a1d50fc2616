import type { Knex } from 'knex';

const UP = `
-- Null until the device reports it. What an earlier version stored for "not reported" was -1, which
-- devices also report when they don't know the level.
alter table devices alter column battery_level drop not null, alter column battery_level drop default;
update devices d set battery_level = null
where battery_level = -1 and not exists (
  select from commands c
  where c.device_id = d.id and c.request_type = 'DeviceInformation' and c.status = 'Acknowledged');

-- True once the device listed it among what is managed; null: not known.
alter table installed_applications add column is_managed boolean;
alter table installed_certificates add column is_managed boolean;
`;

const DOWN = `
alter table installed_certificates drop column is_managed;
alter table installed_applications drop column is_managed;
update devices set battery_level = -1 where battery_level is null;
alter table devices
  alter column battery_level set default -1, alter column battery_level set not null;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
