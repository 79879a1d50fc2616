import { plistToJson } from '../protocol/apple/command-schema.js';
import { isPlistDict, type PlistDict, type PlistValue } from '../protocol/plist.js';

/** How a value of a report becomes a column. */
export type FactKind = 'text' | 'boolean' | 'integer' | 'number' | 'date' | 'data' | 'json';

/** Apple's key to column and kind. */
export type FactMap = Readonly<Record<string, readonly [column: string, kind: FactKind]>>;

const TEXT_LIMIT = 10_000;

function toText(value: PlistValue): string | null | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'string') return undefined;
  return value === '' ? null : value.slice(0, TEXT_LIMIT);
}

function toInteger(value: PlistValue): number | string | undefined {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'number' ? Math.trunc(value) : undefined;
}

const READERS: Record<FactKind, (value: PlistValue) => unknown> = {
  text: toText,
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  integer: toInteger,
  number: (value) => (typeof value === 'number' ? value : undefined),
  date: (value) => (value instanceof Date ? value : undefined),
  data: (value) => (Buffer.isBuffer(value) ? value : undefined),
  json: (value) => plistToJson(value),
};

/**
 * The columns that a dictionary of a report fills. A key the device did not send is left out, and so
 * is a value of another type than Apple documents; the raw report keeps both.
 */
export function readFacts(dict: PlistDict, map: FactMap): Record<string, unknown> {
  const facts: Record<string, unknown> = {};
  for (const [key, [column, kind]] of Object.entries(map)) {
    const value = dict[key];
    if (value === undefined) continue;
    const fact = READERS[kind](value);
    if (fact !== undefined) facts[column] = fact;
  }
  return facts;
}

export function dictAt(dict: PlistDict, key: string): PlistDict | undefined {
  const value = dict[key];
  return isPlistDict(value) ? value : undefined;
}

/** The dictionaries in the array at `key`; undefined when the device sent no array there. */
export function dictsAt(dict: PlistDict, key: string): PlistDict[] | undefined {
  const value = dict[key];
  return Array.isArray(value) ? value.filter(isPlistDict) : undefined;
}
