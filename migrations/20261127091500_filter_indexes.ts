import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/**
 * For filters of lists that read whole tables. None has a column that a poll, a delivery, an answer or a
 * push changes, so that these updates stay on their page (heap-only tuples); `push_state` is in the
 * condition of an index already. A condition leaves out the rows that most devices are, which cost
 * nothing then and are found among the first of a list without an index.
 */
const INDEXES: [name: string, on: string][] = [
  // The newest devices, and the order of a list.
  ['devices_created_at', 'devices (created_at, id)'],
  // Which method is rare differs from fleet to fleet.
  ['devices_enrollment_method', 'devices (enrollment_method, id)'],
  // Devices that are not managed yet, or no longer.
  [
    'devices_enrollment_state',
    "devices (enrollment_state, id) where enrollment_state <> 'enrolled'",
  ],
  ['devices_unenrolled_at', 'devices (unenrolled_at, id) where unenrolled_at is not null'],
  // Devices of persons in a fleet of an organization's own.
  ['devices_enrollment_type', "devices (enrollment_type, id) where enrollment_type <> 'device'"],
  // Devices that are not reached, are lost, or stand in Setup Assistant.
  ['devices_push_state', "devices (push_state, id) where push_state <> 'ok'"],
  ['devices_lost', 'devices (id) where is_mdm_lost_mode_enabled'],
  ['devices_in_setup', 'devices (id) where awaiting_configuration'],
  // The identities of one CA among those of all; after a new CA they are the last ones.
  ['certificates_issuer', 'certificates (issuer, id)'],
  // Equality and `startswith`, whatever the collation of the database.
  ['certificates_x509_cn', 'certificates (x509_cn text_pattern_ops)'],
  ['certificates_created_at', 'certificates (created_at, id)'],
  // The few that are not a device's, or were revoked for a reason.
  ['certificates_ca', 'certificates (id) where is_ca'],
  ['certificates_own_ca', 'certificates (id) where is_own_ca'],
  [
    'certificates_revocation_reason',
    'certificates (revocation_reason, id) where revocation_reason is not null',
  ],
  // Set when a command is queued, by admins with ?force=true.
  ['commands_forced', 'commands (id) where is_forced'],
  // What a person, a machine or a kind of target had to do with, and what failed.
  ['audit_events_role', 'audit_events (role, id)'],
  ['audit_events_source_address', 'audit_events (source_address, id)'],
  ['audit_events_target_type', 'audit_events (target_type, id)'],
  ['audit_events_outcome', "audit_events (outcome, id) where outcome <> 'success'"],
  // Equality, startswith and contains; a value can be too long for a btree.
  ['custom_attributes_value', 'custom_attributes using gin (value gin_trgm_ops)'],
];

/** Found by the bytes, which have an index of their own: one random page less for each enrollment. */
const UNUSED: [name: string, on: string] = [
  'certificates_fingerprint_sha256',
  'certificates (fingerprint_sha256)',
];

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [...INDEXES.flatMap(built), dropped(UNUSED)]);
}

export async function down(knex: Knex): Promise<void> {
  await runOutsideTransaction(knex, [...built(UNUSED), ...INDEXES.map(dropped)]);
}

function built([name, on]: [name: string, on: string]): string[] {
  return [dropped([name, on]), `create index concurrently ${name} on ${on}`];
}

function dropped([name]: [name: string, on: string]): string {
  return `drop index concurrently if exists ${name}`;
}

/** On one connection, whose time limits are lifted meanwhile. */
async function runOutsideTransaction(knex: Knex, statements: string[]): Promise<void> {
  const limits = ['statement_timeout', 'lock_timeout'];
  const connection: unknown = await knex.client.acquireConnection();
  const run = (sql: string) => knex.raw(sql).connection(connection);
  try {
    for (const limit of limits) await run(`set ${limit} = 0`);
    for (const statement of statements) await run(statement);
    for (const limit of limits) await run(`reset ${limit}`);
  } finally {
    await knex.client.releaseConnection(connection);
  }
}
