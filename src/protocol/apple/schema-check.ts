import type { ErrorDetail } from '../../errors.js';
import { isPlistDict, type PlistDict, type PlistValue } from '../plist/plist.js';
import {
  elementKey,
  keyNamed,
  pointerTo,
  type SchemaKey,
  type SchemaType,
} from './schema-types.js';

/** Longer lists than this are not spelled out in a fault. */
const LISTED = 20;

const IS_TYPE: Record<SchemaType, (value: PlistValue) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: (value) => typeof value === 'bigint' || Number.isSafeInteger(value),
  real: (value) => typeof value === 'number' || typeof value === 'bigint',
  boolean: (value) => typeof value === 'boolean',
  date: (value) => value instanceof Date,
  data: (value) => Buffer.isBuffer(value),
  array: (value) => Array.isArray(value),
  dictionary: (value) => isPlistDict(value),
  any: () => true,
};

const CALLED: Record<SchemaType, string> = {
  string: 'a string',
  integer: 'an integer',
  real: 'a number',
  boolean: 'a boolean',
  date: 'a date in ISO 8601',
  data: 'data in base64',
  array: 'an array',
  dictionary: 'an object',
  any: 'any value',
};

/** What of the schema is broken. */
export type SchemaRule =
  | 'unknown'
  | 'required'
  | 'type'
  /** A boolean for 0 or 1, or the other way round. */
  | 'flag'
  | 'value'
  | 'range'
  | 'format'
  | 'repetition';

export interface SchemaFault extends ErrorDetail {
  source: { pointer: string };
  rule: SchemaRule;
}

/** A fault of the document at a JSON pointer. */
export function fault(pointer: string, detail: string): ErrorDetail {
  return { detail, source: { pointer } };
}

/**
 * Checks a dictionary against Apple's keys: unknown and missing ones, types, ranges, formats,
 * repetitions, all the way down. Returns every fault, each with a JSON pointer below `pointer`.
 */
export function checkKeys(keys: SchemaKey[], dict: PlistDict, pointer: string): SchemaFault[] {
  const faults: SchemaFault[] = [];
  for (const [name, value] of Object.entries(dict)) {
    const key = keyNamed(keys, name);
    const at = pointerTo(pointer, name);
    if (key === undefined) {
      faults.push(broken('unknown', at, `${name || '""'} is not a key Apple's schema lists here`));
    } else faults.push(...checkValue(key, value, { name, pointer: at }));
  }
  for (const { key, presence } of keys) {
    if (presence === 'required' && key !== 'ANY' && dict[key] === undefined) {
      faults.push(broken('required', pointerTo(pointer, key), `${key} is required`));
    }
  }
  return faults;
}

interface Place {
  name: string;
  pointer: string;
}

function broken(rule: SchemaRule, pointer: string, detail: string): SchemaFault {
  return { detail, source: { pointer }, rule };
}

function checkValue(key: SchemaKey, value: PlistValue, place: Place): SchemaFault[] {
  if (!IS_TYPE[key.type](value)) {
    const rule = isFlag(key.type, value) ? 'flag' : 'type';
    return [broken(rule, place.pointer, `${place.name} must be ${CALLED[key.type]}`)];
  }
  if (Array.isArray(value)) return checkArray(key, value, place);
  if (isPlistDict(value)) {
    return key.subkeys === undefined ? [] : checkKeys(key.subkeys, value, place.pointer);
  }
  const rule = brokenRule(key, value);
  return rule ? [broken(rule[0], place.pointer, `${place.name} ${rule[1]}`)] : [];
}

function isFlag(type: SchemaType, value: PlistValue): boolean {
  if (type === 'integer') return typeof value === 'boolean';
  return type === 'boolean' && (value === 0 || value === 1);
}

function checkArray(key: SchemaKey, values: PlistValue[], place: Place): SchemaFault[] {
  const { min = 0, max = Number.POSITIVE_INFINITY } = key.repetition ?? {};
  const faults: SchemaFault[] = [];
  if (values.length < min || values.length > max) {
    const detail = `${place.name} must have ${between(min, max)} elements`;
    faults.push(broken('repetition', place.pointer, detail));
  }
  for (const [index, value] of values.entries()) {
    faults.push(...checkElement(key, value, { ...place, pointer: `${place.pointer}/${index}` }));
  }
  return faults;
}

function between(min: number, max: number): string {
  if (max === Number.POSITIVE_INFINITY) return `at least ${min}`;
  return Number.isFinite(min) ? `${min} to ${max}` : `at most ${max}`;
}

function checkElement(array: SchemaKey, value: PlistValue, place: Place): SchemaFault[] {
  const kinds = array.subkeys ?? [];
  if (array.type === 'any' || kinds.length === 0) return [];
  const item = isPlistDict(value) ? value.Item : undefined;
  const element = elementKey(array, item);
  if (element !== undefined) {
    return checkValue(element, value, { ...place, name: `an element of ${place.name}` });
  }
  if (!isPlistDict(value)) return [broken('type', place.pointer, `${place.name} holds objects`)];
  const names = kinds.map(({ key }) => key);
  return [broken('value', pointerTo(place.pointer, 'Item'), `Item ${mustBeOneOf(names)}`)];
}

function mustBeOneOf(values: readonly unknown[]): string {
  if (values.length > LISTED) return "must be one of the values Apple's schema lists";
  return `must be one of ${values.join(', ')}`;
}

function brokenRule(key: SchemaKey, value: PlistValue): [SchemaRule, string] | undefined {
  const listed = key.rangelist ?? (key.type === 'string' ? valuesOf(key) : undefined);
  if (listed !== undefined && !listed.some((allowed) => allowed === value)) {
    return ['value', mustBeOneOf(listed)];
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = key.range ?? {};
    if (value < min || value > max) return ['range', `must be ${between(min, max)}`];
  }
  if (typeof value === 'string' && key.format !== undefined) {
    const isMatch = new RegExp(`^(?:${key.format})$`, 'u').test(value);
    if (!isMatch) return ['format', `must match ${key.format}`];
  }
  return undefined;
}

function valuesOf(key: SchemaKey): string[] | undefined {
  return key.subkeys?.map((subkey) => subkey.key);
}
