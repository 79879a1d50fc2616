import type { Knex } from 'knex';
import { runPrepared } from '../connection/prepared-statements.js';
import type { Transaction } from '../connection/unit-of-work.js';
import type { InventoryRow } from './inventory-repository.js';
import type { AgedRows } from './removal-notices.js';
import type { ListedTable } from './unchanged-inventory.js';

/** Source of the change: a command, a report of the device, or `enrollment`: a check-in or DEP. */
export interface ChangeCause {
  cause: 'command' | 'report' | 'admin' | 'enrollment';
  /** The request type of a command, or the name of an admin's token. */
  by?: string;
}

const SET_CAUSE = `select set_config('muster.cause', ?, true), set_config('muster.caused_by', ?, true)`;

/** What the rest of the transaction changes is written with this cause. */
export async function setChangeCause(trx: Knex.Transaction, { cause, by }: ChangeCause) {
  await runPrepared(trx, { text: SET_CAUSE, bindings: [cause, by ?? ''] });
}

interface ItemColumns {
  kind: 'application' | 'profile' | 'certificate';
  /** Identifies an entry, whatever its case. */
  key: string;
  name: string;
  /** The first of them that it has says which version of the entry it is. */
  versions: readonly string[];
}

const ITEMS: Record<ListedTable, ItemColumns> = {
  installed_applications: {
    kind: 'application',
    key: 'bundle_identifier',
    name: 'name',
    versions: ['short_version', 'version'],
  },
  installed_profiles: {
    kind: 'profile',
    key: 'payload_identifier',
    name: 'payload_display_name',
    versions: ['payload_uuid'],
  },
  installed_certificates: {
    kind: 'certificate',
    key: 'fingerprint_sha256',
    name: 'x509_cn',
    versions: [],
  },
};

/** What a list of a device has replaced. */
export interface ReplacedList {
  deviceId: number;
  /** Whether other entries stay as they are. */
  keepsOthers: boolean;
  removed: readonly InventoryRow[];
  rows: readonly InventoryRow[];
}

interface ItemChange {
  device_id: number;
  kind: string;
  change: 'changed' | 'appeared' | 'gone';
  attribute: string;
  name: string | null;
  old: string | null;
  new: string | null;
}

const INSERT = `
insert into device_changes (device_id, kind, change, attribute, name, "old", "new", cause, caused_by)
select c.device_id, c.kind, c.change, c.attribute, c.name, c."old", c."new", change_cause(),
  change_caused_by()
from jsonb_array_elements(?::jsonb) with ordinality as entry (value, n)
cross join lateral jsonb_to_record(entry.value) as c (device_id bigint, kind text, change text,
  attribute text, name text, "old" text, "new" text)
order by n`;

/**
 * Writes which entries were added, removed or updated. The first list of a device is no change. Without
 * any change no statement runs.
 */
export async function writeListChanges(
  trx: Knex.Transaction,
  table: ListedTable,
  lists: readonly ReplacedList[],
): Promise<void> {
  const changes = lists.flatMap((list) => changesOf(ITEMS[table], list));
  if (changes.length === 0) return;
  await runPrepared(trx, { text: INSERT, bindings: [JSON.stringify(changes)] });
}

/** An entry of a device that a command has removed. */
export async function writeGone(
  trx: Knex.Transaction,
  table: ListedTable,
  removed: readonly (InventoryRow & { device_id: number })[],
): Promise<void> {
  const lists = removed.map((row) => {
    return { deviceId: row.device_id, keepsOthers: true, removed: [row], rows: [] };
  });
  await writeListChanges(trx, table, lists);
}

function changesOf(columns: ItemColumns, list: ReplacedList): ItemChange[] {
  const { deviceId, keepsOthers, removed, rows } = list;
  if (!keepsOthers && removed.length === 0) return [];
  const { kind, name } = columns;
  const [before, after] = [entriesOf(columns, removed), entriesOf(columns, rows)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [former, present] = [before.get(key), after.get(key)];
    const [old, now] = [versionOf(columns, former), versionOf(columns, present)];
    if (former !== undefined && present !== undefined && old === now) return [];
    const [shown = {}] = present ?? former ?? [];
    const change = changeOf(former, present);
    const attribute = String(shown[columns.key]);
    const title = typeof shown[name] === 'string' ? shown[name] : null;
    return [{ device_id: deviceId, kind, change, attribute, name: title, old, new: now }];
  });
}

function changeOf(former: unknown, present: unknown): ItemChange['change'] {
  if (former === undefined) return 'appeared';
  return present === undefined ? 'gone' : 'changed';
}

/** Entries by their key in lower case; those without one are not distinguished. */
function entriesOf({ key }: ItemColumns, rows: readonly InventoryRow[]) {
  const entries = new Map<string, InventoryRow[]>();
  for (const row of rows) {
    const { [key]: value } = row;
    if (typeof value !== 'string' || value === '') continue;
    const name = value.toLowerCase();
    entries.set(name, [...(entries.get(name) ?? []), row]);
  }
  return entries;
}

/** A device may have several copies of an application. */
function versionOf({ versions }: ItemColumns, rows: readonly InventoryRow[] = []): string | null {
  const found = rows.flatMap((row) => {
    const version = versions.map((column) => row[column]).find((value) => value != null);
    return version === undefined ? [] : [String(version)];
  });
  return found.length === 0 ? null : [...new Set(found)].sort().join(', ');
}

export const OLD_CHANGES: AgedRows = {
  noticeTable: 'change_retention',
  countOld: `
select count(*)::integer as count from device_changes
where changed_at < now() - :age * interval '1 millisecond'`,
};

const REMOVE_OLD = `
delete from device_changes where id in (
  select id from device_changes where changed_at < now() - ? * interval '1 millisecond'
  order by changed_at, id limit ? for update skip locked)`;

/** Removes changes older than `age` milliseconds. Returns how many. */
export async function removeOldChanges(
  knex: Knex,
  { age, limit }: { age: number; limit: number },
): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REMOVE_OLD, [age, limit]);
  return rowCount;
}

/** For the API: an admin's request changes devices. */
export async function changedByAdmin(trx: Transaction, by: string): Promise<void> {
  await setChangeCause(trx, { cause: 'admin', by });
}
