import type { InventoryRow } from '../../db/devices/inventory-repository.js';
import type { ListScope } from '../../db/devices/listed-inventory.js';
import { AppError } from '../../errors.js';
import { type JsonValue, plistToJson } from '../../protocol/apple/command-schema.js';
import { MAX_DESCRIPTION_LENGTH } from '../../protocol/mdm/message-fields.js';
import { isPlistDict, type PlistDict, type PlistValue } from '../../protocol/plist/plist.js';

/** How a value of a report becomes the value of a column. */
type ColumnKind = 'text' | 'prose' | 'boolean' | 'integer' | 'number' | 'date' | 'data' | 'json';

/** Apple's key to column and kind. */
export type ColumnMap = Readonly<Record<string, readonly [column: string, kind: ColumnKind]>>;

/** Columns and their values. */
export type Columns = Record<string, unknown>;

/** Maximum of text that no index orders. */
const PROSE_LIMIT = 10_000;
/** Maximum of JSON text. Apple's longest, the applications of a firewall, has a tenth of it. */
const JSON_LIMIT = 256 * 1024;

/**
 * The columns that a dictionary of a report fills. A key that the device did not send is left out, and
 * so is a value of another type than Apple documents, or too long a list; of too long a text the
 * beginning is kept. The raw report has all.
 */
export function readColumns(dict: PlistDict, map: ColumnMap): Columns {
  const columns: Columns = {};
  for (const [key, [column, kind]] of Object.entries(map)) {
    const value = dict[key];
    if (value === undefined) continue;
    const converted = CONVERTERS[kind](value);
    if (converted !== undefined) columns[column] = converted;
  }
  return columns;
}

/**
 * The rows of the list at `key`, without entries of which nothing can be read; undefined without one. AppError
 * 422 beyond 10,000 entries.
 */
export function listRows<Row extends InventoryRow>(
  body: PlistDict,
  key: string,
  toRow: (entry: PlistDict) => Row,
): Row[] | undefined {
  const entries = dictsAt(body, key);
  assertRowCount(entries?.length ?? 0, key);
  const rows = entries?.map(toRow).filter(hasValue);
  // Nothing is known from a list of nothing that can be read; an empty list says that there is nothing.
  return rows?.length === 0 && entries?.length !== 0 ? undefined : rows;
}

function hasValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value !== null && value !== undefined;
  const isLeaf = value instanceof Date || Buffer.isBuffer(value);
  return isLeaf || Object.values(value).some(hasValue);
}

/** Ten times the applications of a Mac that has very many. */
const MAX_ROWS = 10_000;

export function assertRowCount(count: number, key: string): void {
  if (count <= MAX_ROWS) return;
  const message = `${key} has ${count} entries, and ${MAX_ROWS} at most are read`;
  throw new AppError('invalid_message', 422, message);
}

/** The entries that a list command requested, by its parameters. */
export function listScope(parameters: PlistDict, managedOnlyKey: string): ListScope {
  const isManagedOnly = parameters[managedOnlyKey] === true;
  return { named: stringsAt(parameters, 'Identifiers'), isManagedOnly };
}

export function dictAt(dict: PlistDict, key: string): PlistDict | undefined {
  const value = dict[key];
  return isPlistDict(value) ? value : undefined;
}

/** The dictionaries in the array at `key`; undefined without an array there. */
export function dictsAt(dict: PlistDict, key: string): PlistDict[] | undefined {
  const value = dict[key];
  return Array.isArray(value) ? value.filter(isPlistDict) : undefined;
}

/** The strings in the array at `key`; undefined without an array there. */
export function stringsAt(dict: PlistDict, key: string): string[] | undefined {
  const value = dict[key];
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : undefined;
}

/** Undefined for a value of another type. */
const CONVERTERS: Record<ColumnKind, (value: PlistValue) => unknown> = {
  text: (value) => toText(value, MAX_DESCRIPTION_LENGTH),
  prose: (value) => toText(value, PROSE_LIMIT),
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  integer: toInteger,
  number: (value) => (typeof value === 'number' ? value : undefined),
  date: (value) => (value instanceof Date ? value : undefined),
  data: (value) => (Buffer.isBuffer(value) ? value : undefined),
  json: toJson,
};

function toText(value: PlistValue, limit: number): string | null | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'string') return undefined;
  return value === '' ? null : value.slice(0, limit);
}

function toInteger(value: PlistValue): number | string | undefined {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'number' ? Math.trunc(value) : undefined;
}

function toJson(value: PlistValue): JsonValue | undefined {
  const json = plistToJson(value);
  return JSON.stringify(json).length <= JSON_LIMIT ? json : undefined;
}
