import type { Transaction } from '../connection/unit-of-work.js';

const SET = `
insert into custom_attributes (device_id, name, value) values (:deviceId, :name, :value)
on conflict (device_id, name) do update set value = excluded.value, updated_at = now()
returning id`;

/** What admins note of a device under this name, new or replaced. Returns the id of the row. */
export async function setCustomAttribute(
  trx: Transaction,
  attribute: { deviceId: number; name: string; value: string },
): Promise<number> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(SET, attribute);
  const [row] = rows;
  if (row === undefined) throw new Error('an upsert returned no row');
  return row.id;
}
