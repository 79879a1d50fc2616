import type { Knex } from 'knex';
import { type ReplacedList, writeListChanges } from './device-changes.js';
import {
  type InventoryRow,
  insertInventory,
  insertProfiles,
  type ProfileRows,
  ROWS_PER_STATEMENT,
} from './inventory-repository.js';
import { findUnchanged, type ListedTable, type Unchanged } from './unchanged-inventory.js';

/** Which of a device's entries a list covers. */
export interface ListScope {
  /** Keys that the command named; undefined if it asked for all. */
  named: string[] | undefined;
  isManagedOnly: boolean;
}

/** What a device lists. */
export interface Listed<Row extends InventoryRow = InventoryRow> {
  deviceId: number;
  rows: Row[];
  scope: ListScope;
  /** The rows omit some facts, which stay as they are. */
  isPartial?: boolean;
}

/** Without the rows that are stored as they are. */
interface Changed extends Listed {
  /** Ids of the rows that stay. */
  kept: number[];
}

/** The column that names an entry; compared without regard to case. */
const KEY: Record<ListedTable, string> = {
  installed_applications: 'bundle_identifier',
  installed_certificates: 'fingerprint_sha256',
  installed_profiles: 'payload_identifier',
};

/** The ids are a separate parameter, so that the plan finds the rows by device. */
const REMOVE_LISTED = `
with lists as (
  select * from jsonb_to_recordset(?::jsonb) as l (
    device_id bigint, kept bigint[], reported text[], named text[], is_managed_only boolean,
    is_partial boolean)
), removed as (
  delete from ?? entry using lists l
  where entry.device_id = any(?::bigint[]) and entry.device_id = l.device_id
    and entry.id <> all(l.kept) and (
      lower(entry.??) = any(l.reported)
      or (l.named is null or lower(entry.??) = any(l.named))
        and (not l.is_managed_only or entry.is_managed))
  returning to_jsonb(entry) as row, entry.is_managed or l.is_partial as is_needed
)
select row, is_needed is true as is_needed from removed`;

/**
 * Removes the rows that lists replace: those that they report again, and those that they would have
 * reported if they still existed. A list of managed entries does not cover rows that are not known as
 * managed. Returns the removed rows; needed are those that were known as managed, and for a partial list all of them.
 */
async function removeListed(
  trx: Knex.Transaction,
  table: ListedTable,
  lists: readonly Changed[],
): Promise<{ row: InventoryRow; is_needed: boolean }[]> {
  const key = KEY[table];
  const parameters = lists.map(({ deviceId, rows, scope, isPartial = false, kept }) => ({
    device_id: deviceId,
    kept,
    reported: lowerCase(rows.map((row) => row[key])),
    named: scope.named === undefined ? null : lowerCase(scope.named),
    is_managed_only: scope.isManagedOnly,
    is_partial: isPartial,
  }));
  const devices = lists.map(({ deviceId }) => deviceId);
  const bindings = [JSON.stringify(parameters), table, devices, key, key];
  const { rows } = await trx.raw<{ rows: { row: InventoryRow; is_needed: boolean }[] }>(
    REMOVE_LISTED,
    bindings,
  );
  await writeListChanges(trx, table, replacedBy(lists, rows));
  return rows;
}

function replacedBy(
  lists: readonly Changed[],
  removed: readonly { row: InventoryRow }[],
): ReplacedList[] {
  const ofDevices = new Map<unknown, InventoryRow[]>();
  for (const { row } of removed) {
    ofDevices.set(row.device_id, [...(ofDevices.get(row.device_id) ?? []), row]);
  }
  return lists.map(({ deviceId, kept, rows }) => {
    return { deviceId, keepsOthers: kept.length > 0, rows, removed: ofDevices.get(deviceId) ?? [] };
  });
}

function lowerCase(values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string').map((value) => value.toLowerCase());
}

/**
 * Replaces the rows that lists of different devices cover by those that they report. Unchanged rows of
 * a whole list, which are most of them, are not written again, and so change no index.
 */
export async function replaceListed(
  trx: Knex.Transaction,
  table: Exclude<ListedTable, 'installed_profiles'>,
  lists: readonly Listed[],
): Promise<void> {
  for (const some of inChunks(lists)) {
    await replaceChanged(trx, table, await withoutUnchanged(trx, table, some));
  }
}

/** Devices whose lists are known from now on, even if they are empty. Writes each device once. */
export async function markApplicationsListed(
  trx: Knex.Transaction,
  deviceIds: readonly number[],
): Promise<void> {
  if (deviceIds.length === 0) return;
  const text = `update devices set applications_listed = true
    where id = any(?::bigint[]) and applications_listed is not true`;
  await trx.raw(text, [[...deviceIds]]);
}

/** Lists whose rows fit one statement; a longer list is alone. */
function inChunks<List extends Listed>(lists: readonly List[]): List[][] {
  const chunks: List[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const list of lists) {
    size += list.rows.length;
    if (size > ROWS_PER_STATEMENT) {
      chunks.push([]);
      size = list.rows.length;
    }
    chunks.at(-1)?.push(list);
  }
  return chunks;
}

async function replaceChanged(
  trx: Knex.Transaction,
  table: Exclude<ListedTable, 'installed_profiles'>,
  lists: readonly Changed[],
): Promise<void> {
  const removed = await removeListed(trx, table, lists);
  const rows = lists.flatMap((list) => {
    const former = removed.flatMap(({ row, is_needed }) =>
      is_needed && row.device_id === list.deviceId ? [row] : [],
    );
    return withFormerFacts(table, list, former);
  });
  await insertInventory(trx, table, rows);
}

/** The reported rows, with what only the removed ones said. */
function withFormerFacts(
  table: ListedTable,
  { deviceId, rows, scope, isPartial = false }: Changed,
  removed: InventoryRow[],
): InventoryRow[] {
  const formerByKey = byKey(table, removed);
  const reported = byKey(table, rows);
  return rows.map((row) => {
    const key = keyOf(table, row);
    const former = formerByKey.get(key) ?? [];
    const isManaged = scope.isManagedOnly || former.some(({ is_managed }) => is_managed === true);
    const [only, ...copies] = isPartial && reported.get(key)?.length === 1 ? former : [];
    const known = only !== undefined && copies.length === 0 ? factsOf(only) : undefined;
    const managed = isManaged ? { is_managed: true } : undefined;
    return {
      ...known,
      ...row,
      ...managed,
      device_id: deviceId,
    };
  });
}

/** Compares whole lists only: a fact that a partial list omits may still hold. */
async function withoutUnchanged(
  trx: Knex.Transaction,
  table: ListedTable,
  lists: readonly Listed[],
): Promise<Changed[]> {
  const listed = lists.flatMap(({ deviceId, rows, scope, isPartial = false }, list) => {
    const isWhole = scope.named === undefined && !scope.isManagedOnly && !isPartial;
    return isWhole ? rows.map((row) => ({ list, deviceId, row })) : [];
  });
  const { indexes, idsOfLists }: Unchanged = await findUnchanged(trx, table, listed);
  const unchanged = new Set([...indexes].map((index) => listed[index]?.row));
  return lists.map((list, index) => ({
    ...list,
    rows: list.rows.filter((row) => !unchanged.has(row)),
    kept: idsOfLists.get(index) ?? [],
  }));
}

function keyOf(table: ListedTable, row: InventoryRow): string {
  const key = row[KEY[table]];
  return typeof key === 'string' ? key.toLowerCase() : '';
}

function byKey(table: ListedTable, rows: InventoryRow[]): Map<string, InventoryRow[]> {
  const found = new Map<string, InventoryRow[]>();
  for (const row of rows) {
    const key = keyOf(table, row);
    const others = found.get(key);
    if (others !== undefined) others.push(row);
    else if (key !== '') found.set(key, [row]);
  }
  return found;
}

function factsOf({ id: _id, device_id: _device, ...facts }: InventoryRow): InventoryRow {
  return facts;
}

/** The same for profiles, which report themselves whether they are managed. */
export async function replaceListedProfiles(
  trx: Knex.Transaction,
  lists: readonly Listed<ProfileRows>[],
): Promise<void> {
  for (const some of inChunks(lists)) {
    const changed = await withoutUnchanged(trx, 'installed_profiles', some);
    const profilesOnly = changed.map((list) => ({
      ...list,
      rows: (list.rows as ProfileRows[]).map(({ profile }) => profile),
    }));
    await removeListed(trx, 'installed_profiles', profilesOnly);
    await insertProfiles(trx, changed.flatMap(withDevice));
  }
}

function withDevice({ deviceId, rows, scope }: Changed): ProfileRows[] {
  const known = scope.isManagedOnly ? { is_managed: true } : {};
  return (rows as ProfileRows[]).map(({ profile, payloads }) => ({
    profile: { ...known, ...profile, device_id: deviceId },
    payloads,
  }));
}
