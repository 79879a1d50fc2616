import type { Knex } from 'knex';

const UP = `
-- When the next profile that fetches a credential (SCEP, ACME) may be sent: they are spread over time.
alter table reconciler_state add column next_credential_at timestamptz;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table reconciler_state drop column next_credential_at');
}
