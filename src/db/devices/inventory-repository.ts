import type { Knex } from 'knex';
import { runPrepared } from '../connection/prepared-statements.js';

/** A set of rows that a device reports as a whole. */
export type InventoryTable =
  | 'installed_applications'
  | 'installed_certificates'
  | 'installed_profiles'
  | 'available_os_updates';

export type InventoryRow = Record<string, unknown>;

/** Rows in one statement: a device with more applications takes several. */
export const ROWS_PER_STATEMENT = 500;
/** Fewer, since each value has a placeholder. */
const PROFILES_PER_STATEMENT = 200;

/**
 * Inserts rows with their `device_id` (column name to value; JSON columns as values, bytea as
 * `byteaText`). A column that a row lacks is null.
 */
export async function insertInventory(
  trx: Knex.Transaction,
  table: InventoryTable,
  rows: readonly InventoryRow[],
): Promise<void> {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const slice = rows.slice(start, start + ROWS_PER_STATEMENT);
    // One JSON parameter for all rows: far cheaper than a placeholder for each value.
    await trx.raw(
      `insert into ?? (${columns.map(() => '??').join(', ')})
       select ${columns.map(() => '??').join(', ')}
       from jsonb_populate_recordset(null::${table}, ?::jsonb)`,
      [table, ...columns, ...columns, JSON.stringify(slice)],
    );
  }
}

/** PostgreSQL reads bytea inside JSON in its hex form. */
export function byteaText(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

export interface ProfileRows extends InventoryRow {
  profile: InventoryRow;
  payloads: InventoryRow[];
}

/** Inserts profiles, each with its `device_id`, and their payloads. */
export async function insertProfiles(
  trx: Knex.Transaction,
  profiles: readonly ProfileRows[],
): Promise<void> {
  for (let start = 0; start < profiles.length; start += PROFILES_PER_STATEMENT) {
    const slice = profiles.slice(start, start + PROFILES_PER_STATEMENT);
    const rows: { id: number }[] = await trx('installed_profiles')
      .insert(slice.map(({ profile }) => columnReady(profile)))
      .returning('id');
    await insertPayloads(trx, slice, rows);
  }
}

async function insertPayloads(
  trx: Knex.Transaction,
  profiles: ProfileRows[],
  ids: { id: number }[],
): Promise<void> {
  const payloads = profiles.flatMap((entry, index) =>
    entry.payloads.map((payload) => ({
      ...columnReady(payload),
      installed_profile_id: ids[index]?.id,
    })),
  );
  for (let start = 0; start < payloads.length; start += PROFILES_PER_STATEMENT) {
    const slice = payloads.slice(start, start + PROFILES_PER_STATEMENT);
    await trx('installed_payloads').insert(slice);
  }
}

/** JSON values as text: the driver would send an array as a PostgreSQL array. */
function columnReady(row: InventoryRow): InventoryRow {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      isJson(value) ? JSON.stringify(value) : value,
    ]),
  );
}

function isJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return !(Buffer.isBuffer(value) || value instanceof Date);
}

/** Columns of a device and their new values. */
export interface DeviceFacts {
  deviceId: number;
  facts: Record<string, unknown>;
}

/**
 * Updates the columns that each of these devices names. A device whose values are all the same is not
 * written.
 */
export async function updateDeviceFacts(
  trx: Knex.Transaction,
  devices: readonly DeviceFacts[],
): Promise<void> {
  const columns = [...new Set(devices.flatMap(({ facts }) => Object.keys(facts)))].sort();
  if (columns.length === 0) return;
  const byId = Object.fromEntries(
    devices.map(({ deviceId, facts }) => [deviceId, jsonReady(facts)]),
  );
  await runPrepared(trx, {
    text: updateFactsSql(columns),
    bindings: [JSON.stringify(byId), devices.map(({ deviceId }) => deviceId)],
  });
}

/**
 * One JSON parameter for all devices. A column that a device does not name keeps its value. The ids are
 * a separate parameter, so that the plan finds the rows by key.
 */
function updateFactsSql(columns: readonly string[]): string {
  const list = (table: string) => columns.map((name) => `${table}.${name}`).join(', ');
  return `
update devices d set ${columns.map((name) => `${name} = changed.${name}`).join(', ')}
from (
  select known.id, ${list('reported')}
  from devices known
  cross join lateral jsonb_populate_record(known, ?::jsonb -> known.id::text) reported
  where known.id = any(?::bigint[])
    and (${list('known')}) is distinct from (${list('reported')})
) changed
where d.id = changed.id`;
}

/** Values that JSON.stringify does not write as PostgreSQL reads them. */
function jsonReady(row: InventoryRow): InventoryRow {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
    ]),
  );
}
