import type { Knex } from 'knex';
import { writeGone } from './device-changes.js';
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

/**
 * Makes the rows of each device those given: what is equal is not written and keeps its id. One statement
 * removes rows; devices whose rows have the same columns share one that writes theirs.
 */
export async function mergeInventory(
  trx: Knex.Transaction,
  table: MergedTable,
  devices: readonly MergedRows[],
): Promise<void> {
  const key = KEYS[table];
  const named = devices.map(({ rows, ...device }) => {
    return { ...device, rows: key === null ? rows : lastOfEach(rows, key) };
  });
  if (key !== null && named.length > 0) await removeOthers(trx, { table, key, devices: named });
  for (const group of byColumns(named).values()) {
    await writeRows(trx, { table, key, devices: group });
  }
}

/** Devices by the columns that their rows have together. */
function byColumns(devices: MergedRows[]): Map<string, MergedRows[]> {
  const groups = new Map<string, MergedRows[]>();
  for (const device of devices) {
    if (device.rows.length === 0) continue;
    const columns = columnsOf(device)
      .sort((one, other) => (one < other ? -1 : 1))
      .join();
    groups.set(columns, [...(groups.get(columns) ?? []), device]);
  }
  return groups;
}

function columnsOf({ rows }: MergedRows): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

interface Merge {
  table: MergedTable;
  key: string | null;
  devices: MergedRows[];
}

/** All devices have rows with the columns of the first. */
async function writeRows(trx: Knex.Transaction, { table, key, devices }: Merge): Promise<void> {
  const [first] = devices;
  const columns = first === undefined ? [] : columnsOf(first);
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
  const rows = devices.flatMap(({ deviceId, rows: own }) =>
    own.map((row) => ({ ...row, device_id: deviceId })),
  );
  await trx.raw(
    `insert into ?? as t (device_id, ${refs(columns)})
     select device_id, ${refs(columns)} from jsonb_populate_recordset(null::${table}, ?::jsonb)
     on conflict (${refs(target)}) ${onConflict}`,
    [
      ...[table, ...columns, ...columns, JSON.stringify(rows), ...target],
      ...changed.flatMap((column) => [column, column]),
      ...changed,
      ...changed,
    ],
  );
}

/** Removes the keys that each device covers and does not have. */
async function removeOthers(
  trx: Knex.Transaction,
  { table, key, devices }: Merge & { key: string },
): Promise<void> {
  const lists = devices.map(({ deviceId, rows, covers = null }) => {
    return { device_id: deviceId, kept: rows.map((row) => row[key]), covered: covers };
  });
  await trx.raw(
    `delete from ?? as t
     using jsonb_to_recordset(?::jsonb) as o (device_id bigint, kept text[], covered text[])
     where t.device_id = o.device_id and t.?? <> all(o.kept)
       and (o.covered is null or t.?? = any(o.covered))`,
    [table, JSON.stringify(lists), key, key],
  );
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
  const removed: (InventoryRow & { device_id: number })[] = await trx(table)
    .where({ device_id: deviceId })
    .whereRaw('lower(??) = lower(?)', [column, value])
    .delete()
    .returning('*');
  if (table === 'installed_applications' || table === 'installed_profiles') {
    await writeGone(trx, table, removed);
  }
}
