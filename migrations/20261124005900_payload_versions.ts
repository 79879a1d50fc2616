import type { Knex } from 'knex';

/**
 * Of which version of a profile a payload was built: signed twice, the same version has other bytes. No
 * foreign key: ids are not used again, and deleting a version would have to look through the payloads.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table command_payloads add column profile_version_id bigint');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table command_payloads drop column profile_version_id');
}
