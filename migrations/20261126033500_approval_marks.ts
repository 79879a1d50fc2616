import type { Knex } from 'knex';

/** As `20261123170000_assignments.ts` made it, with the facts that decide what a device can have. */
function trigger(facts: readonly string[]): string {
  const changes = facts.map((name) => `new.${name} is distinct from old.${name}`);
  return `
create or replace trigger devices_reconcile after update on devices for each row
  when (new.is_enrolled is distinct from old.is_enrolled
    or new.is_enrolled and (
      new.enrollment_number <> old.enrollment_number
      or ${changes.join('\n      or ')}))
  execute function mark_device()`;
}

const BEFORE = ['awaiting_configuration', 'platform', 'os_version', 'is_supervised'];

export async function up(knex: Knex): Promise<void> {
  await knex.raw(trigger([...BEFORE, 'user_approved_enrollment']));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(trigger(BEFORE));
}
