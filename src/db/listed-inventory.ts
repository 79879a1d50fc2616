import type { Knex } from 'knex';
import {
  type InventoryRow,
  type InventoryTable,
  insertInventory,
  insertProfiles,
  type ProfileRows,
} from './inventory-repository.js';

/** Which of a device's entries a list is about. */
export interface ListScope {
  /** Keys that the command named; undefined: it named none, and asked for all. */
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
  where device_id = ? and (
    lower(??) = any(?::text[])
    or (?::text[] is null or lower(??) = any(?::text[])) and (not ? or is_managed))
  returning *
)
select to_jsonb(removed) as row from removed where is_managed or ?`;

interface Listed {
  deviceId: number;
  rows: InventoryRow[];
  scope: ListScope;
  /** The rows say nothing of some facts, which stay as they are. */
  isPartial?: boolean;
}

/**
 * Removes the rows of one device that a list replaces: those it reports again, and those that it would
 * have reported if they were still there. A list of what is managed says nothing of a row that is not
 * known as managed. Returns those removed that were known as managed; of a partial list all.
 */
async function removeListed(
  trx: Knex.Transaction,
  table: ListedTable,
  { deviceId, rows, scope, isPartial = false }: Listed,
): Promise<InventoryRow[]> {
  const key = KEY[table];
  const reported = lowerCase(rows.map((row) => row[key]));
  const named = scope.named === undefined ? null : lowerCase(scope.named);
  const { rows: removed } = await trx.raw<{ rows: { row: InventoryRow }[] }>(REMOVE_LISTED, [
    ...[table, deviceId, key, reported, named, key, named, scope.isManagedOnly, isPartial],
  ]);
  return removed.map(({ row }) => row);
}

function lowerCase(values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string').map((value) => value.toLowerCase());
}

/** Replaces those rows of one device that a list is about by those it reports. */
export async function replaceListed(
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

/** The same for profiles, which say themselves whether they are managed. */
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
