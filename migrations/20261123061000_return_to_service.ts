import type { Knex } from 'knex';

const UP = `
-- What devices get that erase themselves and enroll again: one row, or none before the first write.
create table return_to_service_settings (
  id smallint primary key default 1 check (id = 1),
  enabled boolean not null default false,
  applies_to_erase boolean not null default false,
  sealed_wifi_profile bytea,
  sealed_mdm_profile bytea,
  send_bootstrap_token boolean not null default true,
  should_retry_enrollment boolean not null default false,
  preserve_data_plan boolean not null default false,
  updated_at timestamptz not null default now()
);
`;

const DOWN = `
drop table return_to_service_settings;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
