import type { Knex } from 'knex';

const UP = `
alter table available_os_updates
  add column is_downloaded boolean,
  add column download_percent_complete double precision,
  add column status text,
  add column max_deferrals bigint,
  add column deferrals_remaining bigint,
  add column next_scheduled_install timestamptz,
  add column past_notifications jsonb,
  add column install_action text,
  add column error_chain jsonb;
`;

const DOWN = `
alter table available_os_updates
  drop column is_downloaded,
  drop column download_percent_complete,
  drop column status,
  drop column max_deferrals,
  drop column deferrals_remaining,
  drop column next_scheduled_install,
  drop column past_notifications,
  drop column install_action,
  drop column error_chain;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
