import type { Knex } from 'knex';

const ROWS = 5;

/** They are read by a view; what is not given here is null in all but the first rows. */
export async function seedDepDevices(knex: Knex, device_id: number): Promise<void> {
  const account = await knex('dep_accounts').min('id as id').first();
  const texts = [
    ...['model', 'description', 'color', 'asset_tag', 'os', 'device_family', 'op_type'],
    ...['device_assigned_by', 'profile_uuid', 'profile_status', 'assignment_result'],
    ...['activation_lock_result', 'disown_result', 'last_error'],
  ];
  const times = [
    ...['device_assigned_date', 'profile_assign_time', 'profile_push_time', 'op_date'],
    ...['listed_at', 'told_at', 'contacted_at', 'enrolled_at', 'assignment_due_at'],
    ...['assignment_at', 'activation_lock_at', 'disowned_at', 'last_error_at', 'created_at'],
  ];
  for (let index = 0; index < ROWS; index += 1) {
    const isEmpty = index === ROWS - 1;
    const at = `2026-03-${index + 10}T23:42:09.${index}5+02:00`;
    const of = (names: string[], value: string) =>
      isEmpty ? {} : Object.fromEntries(names.map((name) => [name, value]));
    await knex('dep_devices').insert({
      dep_account_id: account?.id,
      serial_number: `Serial ${index} ä_%`,
      device_id,
      fetch_number: index,
      assignment_attempts: index,
      auto_assign: index % 2 === 0,
      by_default: index % 2 === 1,
      ...of(texts, `Text ${index} ä_%`),
      ...of(times, at),
      is_enrolled: index === 2,
      removed_at: index === 3 ? at : null,
    });
  }
}
