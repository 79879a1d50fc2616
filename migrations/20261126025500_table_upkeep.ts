import type { Knex } from 'knex';

/**
 * By default a table is vacuumed when a fifth of its rows has changed and analyzed after a tenth: for
 * ten million commands that is after days of work, while each delivered and answered command leaves two
 * dead rows near the head of the indexes that the next delivery reads. So many changed rows in place of
 * a share make each vacuum short, and keep what the planner knows of the newest rows true.
 *
 * Rows that are only added, such as audit events, are vacuumed too: only a page known to be visible to
 * all lets an index answer without the table.
 */
const SETTINGS: Record<string, Record<string, number>> = {
  commands: everyRows({ vacuum: 50_000, analyze: 100_000, insert: 200_000 }),
  devices: everyRows({ vacuum: 20_000, analyze: 50_000, insert: 100_000 }),
  device_pushes: everyRows({ vacuum: 5_000, analyze: 20_000, insert: 20_000 }),
  installed_applications: everyRows({ vacuum: 100_000, analyze: 200_000, insert: 500_000 }),
  device_identities: everyRows({ vacuum: 20_000, analyze: 50_000, insert: 100_000 }),
  ended_commands: everyRows({ vacuum: 50_000, analyze: 50_000, insert: 100_000 }),
  audit_events: everyRows({ vacuum: 100_000, analyze: 100_000, insert: 200_000 }),
};

function everyRows({ vacuum, analyze, insert }: Record<'vacuum' | 'analyze' | 'insert', number>) {
  return {
    autovacuum_vacuum_scale_factor: 0.01,
    autovacuum_vacuum_threshold: vacuum,
    autovacuum_analyze_scale_factor: 0.01,
    autovacuum_analyze_threshold: analyze,
    autovacuum_vacuum_insert_scale_factor: 0.02,
    autovacuum_vacuum_insert_threshold: insert,
  };
}

/** Takes a lock that neither reads nor writes wait for. */
export async function up(knex: Knex): Promise<void> {
  for (const [table, settings] of Object.entries(SETTINGS)) {
    const list = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    await knex.raw(`alter table ${table} set (${list.join(', ')})`);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, settings] of Object.entries(SETTINGS)) {
    await knex.raw(`alter table ${table} reset (${Object.keys(settings).join(', ')})`);
  }
}
