import type { ResourceDefinition } from '../definition/definition.js';
import { type Position, type SortField, sortName } from '../store.js';
import { readValue } from './column-values.js';
import type { Column } from './filter-node.js';
import { invalidParameter } from './parameters.js';

const VERSION = 1;
/** Longer text is omitted: reverse proxies may limit URLs to 8 KB. */
const MAX_KEY = 500;
const INTEGER = /^-?\d{1,19}$/;
/** Rows may contain these, though clients can't write them. */
const NO_NUMBER = /^(?:NaN|-?Infinity)$/;

/** The type and order that a cursor is valid for. */
export interface CursorPlace {
  definition: ResourceDefinition;
  sort: SortField[];
}

/** An opaque position in one order of one type. It contains only values that the documents show. */
export function encodeCursor(place: CursorPlace, position: Position): string {
  const { keys, id, total } = position;
  const isLong = keys?.some((key) => key !== null && key.length > MAX_KEY);
  const parts = [
    VERSION,
    signature(place),
    isLong ? null : keys,
    id,
    ...(total === undefined ? [] : [total]),
  ];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** AppError 400 for an invalid cursor, or that of another type or order. */
export function parseCursor(parameter: string, value: string, place: CursorPlace): Position {
  const position = decode(value, place);
  if (position !== undefined) return position;
  const { type } = place.definition;
  throw invalidParameter(
    parameter,
    `${parameter} is no cursor of ${type} in this order: take it from links.next or links.prev of a ` +
      'page with the same sort, or leave it empty to start',
  );
}

function signature({ definition, sort }: CursorPlace): string {
  const fields = sort.map((field) => `${field.descending ? '-' : ''}${sortName(field)}`);
  return `${definition.type}:${fields.join()}`;
}

function decode(value: string, place: CursorPlace): Position | undefined {
  const parts = parseJson(Buffer.from(value, 'base64url').toString());
  if (!Array.isArray(parts)) return undefined;
  const [version, owner, keys, id, total] = parts as unknown[];
  if (version !== VERSION || owner !== signature(place)) return undefined;
  if (!isWhole(id) || !areKeys(keys, place)) return undefined;
  if (total === undefined) return { keys, id };
  return isTotal(total) ? { keys, id, total } : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTotal(value: unknown): value is [total: number, isEstimate: boolean] {
  return Array.isArray(value) && isWhole(value[0]) && typeof value[1] === 'boolean';
}

function areKeys(keys: unknown, { definition, sort }: CursorPlace): keys is Position['keys'] {
  if (keys === null) return true;
  const fields = keyFields(sort);
  if (!Array.isArray(keys) || keys.length !== fields.length) return false;
  return fields.every((field, index) => isKey(keys[index], columnKind(definition, field)));
}

/** The fields whose values a position contains: all before the id, the last field of every order. */
function keyFields(sort: SortField[]): SortField[] {
  const end = sort.findIndex(({ column }) => column === 'id');
  return end < 0 ? sort : sort.slice(0, end);
}

function columnKind(
  definition: ResourceDefinition,
  { column, related }: SortField,
): Column['kind'] {
  const { attributes } = related?.shape ?? definition;
  const kind = attributes[column]?.kind;
  return kind === undefined || kind === 'enum' || kind === 'json' ? 'text' : kind;
}

function isKey(key: unknown, kind: Column['kind']): boolean {
  if (key === null) return true;
  if (typeof key !== 'string') return false;
  if (kind === 'integer') return INTEGER.test(key) && isInt8(BigInt(key));
  if (kind === 'number' && NO_NUMBER.test(key)) return true;
  return readValue({ name: '', kind, ignoreCase: false }, key) !== undefined;
}

function isInt8(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}
