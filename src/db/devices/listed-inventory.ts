import type { Knex } from 'knex';
import {
  type InventoryRow,
  type InventoryTable,
  insertInventory,
  insertProfiles,
  type ProfileRows,
  ROWS_PER_STATEMENT,
} from './inventory-repository.js';

/** Which of a device's entries a list covers. */
export interface ListScope {
  /** Keys that the command named; undefined if it asked for all. */
  named: string[] | undefined;
  isManagedOnly: boolean;
}

type ListedTable = Exclude<InventoryTable, 'available_os_updates'>;

/** The column that names an entry; compared without regard to case. */
const KEY: Record<ListedTable, string> = {
  installed_applications: 'bundle_identifier',
  installed_certificates: 'fingerprint_sha256',
  installed_profiles: 'payload_identifier',
};

const REMOVE_LISTED = `
with removed as (
  delete from ??
  where device_id = ? and id <> all(?::bigint[]) and (
    lower(??) = any(?::text[])
    or (?::text[] is null or lower(??) = any(?::text[])) and (not ? or is_managed))
  returning *
)
select to_jsonb(removed) as row from removed where is_managed or ?`;

interface Listed {
  deviceId: number;
  rows: InventoryRow[];
  scope: ListScope;
  /** The rows omit some facts, which stay as they are. */
  isPartial?: boolean;
  /** Ids of rows that stay as they are. */
  kept?: number[];
}

/**
 * Removes the rows of one device that a list replaces: those it reports again, and those it would have
 * reported if they still existed. A list of managed entries does not cover rows that are not known as
 * managed. Returns the removed rows that were known as managed; for a partial list all of them.
 */
async function removeListed(
  trx: Knex.Transaction,
  table: ListedTable,
  { deviceId, rows, scope, isPartial = false, kept = [] }: Listed,
): Promise<InventoryRow[]> {
  const key = KEY[table];
  const reported = lowerCase(rows.map((row) => row[key]));
  const named = scope.named === undefined ? null : lowerCase(scope.named);
  const { rows: removed } = await trx.raw<{ rows: { row: InventoryRow }[] }>(REMOVE_LISTED, [
    table,
    deviceId,
    kept,
    key,
    reported,
    named,
    key,
    named,
    scope.isManagedOnly,
    isPartial,
  ]);
  return removed.map(({ row }) => row);
}

function lowerCase(values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string').map((value) => value.toLowerCase());
}

/**
 * Replaces the rows of one device that a list covers by those it reports. Unchanged rows of a whole
 * list, which are most of them, are not written again, and so change no index.
 */
export async function replaceListed(
  trx: Knex.Transaction,
  table: Exclude<ListedTable, 'installed_profiles'>,
  listed: Listed,
): Promise<void> {
  const { scope, isPartial = false } = listed;
  const isWhole = scope.named === undefined && !scope.isManagedOnly && !isPartial;
  const changes = isWhole ? await withoutUnchanged(trx, table, listed) : listed;
  await replaceChanged(trx, table, changes);
}

async function replaceChanged(
  trx: Knex.Transaction,
  table: Exclude<ListedTable, 'installed_profiles'>,
  listed: Listed,
): Promise<void> {
  const { deviceId, scope, isPartial = false } = listed;
  const removed = byKey(table, await removeListed(trx, table, listed));
  const reported = byKey(table, listed.rows);
  const rows = listed.rows.map((row) => {
    const key = keyOf(table, row);
    const former = removed.get(key) ?? [];
    const isManaged = scope.isManagedOnly || former.some(({ is_managed }) => is_managed === true);
    const [only, ...copies] = isPartial && reported.get(key)?.length === 1 ? former : [];
    return {
      ...(only !== undefined && copies.length === 0 && factsOf(only)),
      ...row,
      ...(isManaged && { is_managed: true }),
    };
  });
  await insertInventory(trx, table, { deviceId, rows });
}

async function withoutUnchanged(
  trx: Knex.Transaction,
  table: Exclude<ListedTable, 'installed_profiles'>,
  listed: Listed,
): Promise<Listed> {
  const { deviceId, rows } = listed;
  const kept = new Set<number>();
  const changed: InventoryRow[] = [];
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const slice = rows.slice(start, start + ROWS_PER_STATEMENT);
    const unchanged = new Set<number>();
    for (const { index, id } of await findUnchanged(trx, table, { deviceId, rows: slice })) {
      // An entry that is listed twice is two rows.
      if (unchanged.has(index) || kept.has(id)) continue;
      unchanged.add(index);
      kept.add(id);
    }
    changed.push(...slice.filter((_row, index) => !unchanged.has(index)));
  }
  return { ...listed, rows: changed, kept: [...kept] };
}

/** Each of the rows with each row of the device that has the same values, nulls included. */
async function findUnchanged(
  trx: Knex.Transaction,
  table: ListedTable,
  { deviceId, rows }: Pick<Listed, 'deviceId' | 'rows'>,
): Promise<{ index: number; id: number }[]> {
  const found = await trx.raw<{ rows: { index: number; id: number }[] }>(
    `select listed.n - 1 as index, known.id
     from (
       select n, jsonb_populate_record(null::${table}, value) as facts
       from jsonb_array_elements(?::jsonb) with ordinality as entry (value, n)
     ) listed
     join (
       select id, jsonb_populate_record(k, '{"id":null,"device_id":null,"is_managed":null}') as facts
       from ${table} k where device_id = ?
     ) known on listed.facts = known.facts`,
    [JSON.stringify(rows), deviceId],
  );
  return found.rows;
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
  list: {
    deviceId: number;
    profiles: ProfileRows[];
    scope: ListScope;
  },
): Promise<void> {
  const { deviceId, profiles, scope } = list;
  const rows = profiles.map(({ profile }) => profile);
  await removeListed(trx, 'installed_profiles', { deviceId, rows, scope });
  const known = scope.isManagedOnly ? { is_managed: true } : {};
  await insertProfiles(
    trx,
    deviceId,
    profiles.map(({ profile, payloads }) => ({ profile: { ...known, ...profile }, payloads })),
  );
}
