import type { Knex } from 'knex';

const UP = `
-- By Apple's schema, {"iOS": {"from": "9.0", "is_supervised": true}}: the platforms that some payload of
-- the version is for, the first version of the system, and whether a payload needs supervision. Null: any
-- device, as of versions that were uploaded before.
alter table profile_versions add column platforms jsonb;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table profile_versions drop column platforms');
}
