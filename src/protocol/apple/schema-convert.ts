import type { ErrorDetail } from '../../errors.js';
import { parseData } from '../plist/plist-scalars.js';
import {
  hasIllegalCharacter,
  newDict,
  type PlistDict,
  type PlistValue,
} from '../plist/plist-value.js';
import { fault } from './schema-check.js';
import { elementKey, keyNamed, pointerTo, type SchemaKey } from './schema-types.js';

/** Well below the limit of the writer, as parameters are wrapped in a command. */
const MAX_DEPTH = 48;
const ISO_DATE = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Turns JSON into plist values: strings become data or dates where the schema has those. Faults of
 * the conversion go to `faults`; what cannot be converted is left out.
 */
export function convertDict(
  keys: SchemaKey[] | undefined,
  json: object,
  context: { pointer: string; faults: ErrorDetail[]; depth?: number },
): PlistDict {
  const { faults, depth = 0 } = context;
  const dict = newDict();
  for (const [name, member] of Object.entries(json)) {
    const at = pointerTo(context.pointer, name);
    if (hasIllegalCharacter(name)) faults.push(fault(at, 'the key has an illegal character'));
    const key = keys === undefined ? undefined : keyNamed(keys, name);
    const value = convert(key, member, { pointer: at, faults, depth: depth + 1 });
    if (value !== undefined) dict[name] = value;
  }
  return dict;
}

interface Context {
  pointer: string;
  faults: ErrorDetail[];
  depth: number;
}

function convert(key: SchemaKey | undefined, json: unknown, context: Context) {
  switch (typeof json) {
    case 'string':
      return convertText(key, json, context);
    case 'number':
    case 'boolean':
      return json;
    default:
      return convertObject(key, json, context);
  }
}

function convertText(key: SchemaKey | undefined, text: string, context: Context) {
  if (key?.type === 'data') return convertData(text, context);
  if (key?.type === 'date') return convertDate(text, context);
  if (hasIllegalCharacter(text))
    return refuse(context, 'has a character property lists cannot hold');
  return text;
}

function convertData(text: string, context: Context): Buffer | undefined {
  try {
    return parseData(text);
  } catch {
    return refuse(context, 'must be data in base64');
  }
}

function refuse(context: Context, reason: string): undefined {
  const name = context.pointer.slice(context.pointer.lastIndexOf('/') + 1);
  context.faults.push(fault(context.pointer, `${name} ${reason}`));
  return undefined;
}

function convertDate(text: string, context: Context): Date | undefined {
  const parts = ISO_DATE.exec(text);
  const date = new Date(parts ? text : Number.NaN);
  // A day the month does not have would be read as one of the next month.
  const day = new Date(parts?.[1] ?? Number.NaN);
  const real = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(parts?.[1] ?? ' ');
  if (Number.isNaN(date.getTime()) || !real) return refuse(context, 'must be a date in ISO 8601');
  return date;
}

function convertObject(key: SchemaKey | undefined, json: unknown, context: Context) {
  if (typeof json !== 'object' || json === null) {
    return refuse(context, 'must not be null');
  }
  if (context.depth > MAX_DEPTH) return refuse(context, 'is nested too deep');
  if (Array.isArray(json)) return convertArray(key, json, context);
  return convertDict(key?.type === 'dictionary' ? key.subkeys : undefined, json, context);
}

function convertArray(key: SchemaKey | undefined, json: unknown[], context: Context): PlistValue[] {
  const values: PlistValue[] = [];
  for (const [index, member] of json.entries()) {
    const element =
      key?.type === 'array'
        ? elementKey(key, (member as { Item?: unknown } | null)?.Item)
        : undefined;
    const pointer = `${context.pointer}/${index}`;
    const value = convert(element, member, { ...context, pointer, depth: context.depth + 1 });
    // One that can't be converted keeps its place, so that the pointers of the others stay right.
    values.push(value ?? '');
  }
  return values;
}
