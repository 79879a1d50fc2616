import type { Transaction } from '../connection/unit-of-work.js';

const MOVE = `
update dep_devices x set device_id = d.id, is_enrolled = d.is_enrolled,
  enrolled_at = case when d.is_enrolled then d.enrolled_at else x.enrolled_at end
from devices d
where d.id = :into and x.device_id = :from
returning to_jsonb(x) as row`;

/**
 * Hands what Apple's program says of one record over to another of the same serial number. Returns
 * the rows as they are then, for restoreAssignments.
 */
export async function moveDepRows(
  trx: Transaction,
  records: { into: number; from: number },
): Promise<object[]> {
  const { rows } = await trx.raw<{ rows: { row: object }[] }>(MOVE, records);
  return rows.map(({ row }) => row);
}

/** What the trigger on `devices` changes. */
const CHANGED = [
  ...['auto_assign', 'by_default', 'assignment_due_at', 'assignment_attempts'],
  ...['assignment_result', 'last_error', 'last_error_at'],
];

const RESTORE = `
update dep_devices x set ${CHANGED.map((name) => `${name} = a.${name}`).join(', ')}
from jsonb_populate_recordset(null::dep_devices, cast(? as jsonb)) a
where x.id = a.id`;

/**
 * A trigger takes the profile that the merged record has from the other one for a new one, and would
 * have Apple told of it once more; so it does where a device passes from account to account. The rows
 * are those of `dep_devices` as JSON.
 */
export async function restoreAssignments(
  trx: Transaction,
  assignments: readonly object[],
): Promise<void> {
  if (assignments.length > 0) await trx.raw(RESTORE, [JSON.stringify(assignments)]);
}
