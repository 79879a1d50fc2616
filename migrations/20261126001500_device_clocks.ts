import type { Knex } from 'knex';

const UP = `
-- Devices whose clock is wrong, by the signing time of their last message. Few rows: written only when
-- that begins, changes or ends.
create table device_clocks (
  device_id bigint primary key references devices (id) on delete cascade,
  -- Positive: ahead of the server.
  offset_seconds bigint not null,
  noticed_at timestamptz not null,
  measured_at timestamptz not null
);
create trigger health_new_clocks after insert on device_clocks for each row
  execute function mark_health_of_new_row();
create trigger health_clocks after update or delete on device_clocks for each row
  execute function mark_health_of_device();
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table device_clocks');
}
