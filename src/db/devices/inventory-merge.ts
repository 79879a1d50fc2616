import type { Knex } from 'knex';
import type { InventoryRow } from './inventory-repository.js';

/** Tables whose rows have a key within their device; null: one row a device. */
const KEYS = {
  managed_applications: 'identifier',
  installed_provisioning_profiles: 'profile_uuid',
  local_users: 'user_name',
  device_locations: null,
  device_restrictions: null,
} as const;

export type MergedTable = keyof typeof KEYS;

export interface MergedRows {
  deviceId: number;
  /** Column name to value; JSON columns as values. A column that no row has stays as it is. */
  rows: InventoryRow[];
  /** Keys whose rows are removed unless they are in `rows`; all of the device when undefined. */
  covers?: readonly string[] | undefined;
}

/** Makes the rows of one device those given: what is equal is not written and keeps its id. */
export async function mergeInventory(
  trx: Knex.Transaction,
  table: MergedTable,
  { deviceId, rows, covers }: MergedRows,
): Promise<void> {
  const key = KEYS[table];
  const named = key === null ? rows : lastOfEach(rows, key);
  if (key !== null) await removeOthers(trx, { table, key, deviceId, named, covers });
  const columns = [...new Set(named.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return;
  const changed = columns.filter((column) => column !== key);
  const refs = (list: readonly string[]) => list.map(() => '??').join(', ');
  const update = changed.map(() => '?? = excluded.??').join(', ');
  const onConflict =
    changed.length === 0
      ? 'do nothing'
      : `do update set ${update}
         where (${changed.map(() => 't.??').join(', ')})
           is distinct from (${changed.map(() => 'excluded.??').join(', ')})`;
  const target = key === null ? ['device_id'] : ['device_id', key];
  await trx.raw(
    `insert into ?? as t (device_id, ${refs(columns)})
     select ?, ${refs(columns)} from jsonb_populate_recordset(null::${table}, ?::jsonb)
     on conflict (${refs(target)}) ${onConflict}`,
    [
      ...[table, ...columns, deviceId, ...columns, JSON.stringify(named), ...target],
      ...changed.flatMap((column) => [column, column]),
      ...changed,
      ...changed,
    ],
  );
}

interface Others {
  table: MergedTable;
  key: string;
  deviceId: number;
  named: InventoryRow[];
  covers: readonly string[] | undefined;
}

async function removeOthers(trx: Knex.Transaction, others: Others): Promise<void> {
  const { table, key, deviceId, named, covers } = others;
  const kept = named.map((row) => row[key] as string);
  const query = trx(table).where({ device_id: deviceId }).whereNotIn(key, kept);
  if (covers !== undefined) query.whereIn(key, [...covers]);
  await query.delete();
}

/** Rows without a key are left out; of those with the same one the last remains. */
function lastOfEach(rows: InventoryRow[], key: string): InventoryRow[] {
  const byKey = new Map<string, InventoryRow>();
  for (const row of rows) {
    const value = row[key];
    if (typeof value === 'string') byKey.set(value, row);
  }
  return [...byKey.values()];
}

export type RemovableTable = MergedTable | 'installed_applications' | 'installed_profiles';

/** Removes the row of one device that has this value in the column, whatever its case. */
export async function removeFromInventory(
  trx: Knex.Transaction,
  table: RemovableTable,
  { deviceId, column, value }: { deviceId: number; column: string; value: string },
): Promise<void> {
  await trx(table)
    .where({ device_id: deviceId })
    .whereRaw('lower(??) = lower(?)', [column, value])
    .delete();
}
