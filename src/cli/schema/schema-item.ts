import { type Document, parseDocument } from 'yaml';
import { UsageError } from '../options.js';

/** Integers are bigint, so that a real such as 2.0 stays one. */
export type Value = string | boolean | bigint | number | null | Value[] | { [name: string]: Value };
type Dict = Record<string, Value>;

export interface SchemaKeyData {
  [name: string]: Value | SchemaKeyData[] | undefined;
  subkeys?: SchemaKeyData[];
}

export interface SchemaItemData {
  /** `requestType` or `payloadType`, `label`, `file`. */
  head: Record<string, string>;
  os?: Dict | undefined;
  keys: SchemaKeyData[];
  response: SchemaKeyData[];
}

/** Members of a key, in the order in which they are written. */
const MEMBERS = [
  ...[
    'key',
    'type',
    'subtype',
    'presence',
    'default',
    'rangelist',
    'range',
    'repetition',
    'format',
  ],
  ...['combinetype', 'assettypes', 'asset-content-types', 'subkeytype'],
];
const TYPES: ReadonlySet<Value> = new Set(
  'string integer real boolean date data array dictionary any'.split(' '),
);
const TYPE_NAMES = new Set(['type', 'subtype']);
const MAX_LABEL = 60;
const MAX_DEPTH = 50;

export interface SchemaFile {
  /** Path in Apple's repository. */
  file: string;
  text: string;
  /** Apple's name of what identifies the item. */
  idName: 'requesttype' | 'payloadtype';
}

/** Aliases beyond the limit are an attack, or no schema. */
function plainOf(document: Document, refuse: (fault: string) => UsageError): Value {
  try {
    return document.toJS({ maxAliasCount: 1000 }) as Value;
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}

/** One file of Apple's repository, less its prose. UsageError names the file and what is wrong. */
export function readSchemaItem({ file, text, idName }: SchemaFile): SchemaItemData {
  const refuse = (fault: string) =>
    new UsageError(`${file}: ${fault}; is this a checkout of apple/device-management?`);
  const document = parseDocument(text, { intAsBigInt: true });
  const [error] = document.errors;
  if (error) throw refuse(error.message.split('\n')[0] ?? 'it is not YAML');
  const whole = plainOf(document, refuse);
  const payload = isDict(whole) ? whole.payload : undefined;
  const id = isDict(payload) ? payload[idName] : undefined;
  if (!isDict(whole) || !isDict(payload) || typeof id !== 'string') {
    throw refuse(`it has no payload with ${idName}`);
  }
  if (idName === 'requesttype' && !/^[A-Za-z]+$/.test(id)) {
    throw refuse(`its ${idName} "${id}" has other characters than letters`);
  }
  const keysOf = (name: string) => {
    const keys = whole[name] ?? [];
    if (!Array.isArray(keys)) throw refuse(`its ${name} are no list`);
    return readKeys(keys, { refuse, above: [] });
  };
  const { title } = whole;
  const label = typeof title === 'string' && title.length <= MAX_LABEL ? { label: title } : {};
  const idMember = idName === 'requesttype' ? 'requestType' : 'payloadType';
  return {
    head: { [idMember]: id, ...label, file },
    os: isDict(payload.supportedOS) ? payload.supportedOS : undefined,
    keys: keysOf('payloadkeys'),
    response: keysOf('responsekeys'),
  };
}

interface Place {
  refuse: (fault: string) => UsageError;
  /** The keys around, with their lists of subkeys. */
  above: { name: string; subkeys: Value[] }[];
}

function readKeys(keys: Value[], place: Place): SchemaKeyData[] {
  if (place.above.length > MAX_DEPTH) throw place.refuse('its keys nest too deep');
  return keys.map((key) => readKey(key, place));
}

function readKey(key: Value, { refuse, above }: Place): SchemaKeyData {
  if (!isDict(key) || typeof key.key !== 'string' || typeof key.type !== 'string') {
    throw refuse('a key has no name or no type');
  }
  if (!TYPES.has(bare(key.type)))
    throw refuse(`its key ${key.key} is of the unknown type ${key.type}`);
  const data: SchemaKeyData = {};
  for (const name of MEMBERS) {
    const value = key[name];
    if (value !== undefined) data[name] = TYPE_NAMES.has(name) ? bare(value) : value;
  }
  if (isDict(key.supportedOS)) data.os = key.supportedOS;
  const { subkeys } = key;
  if (!Array.isArray(subkeys)) return data;
  const loop = above.findIndex((one) => one.subkeys === subkeys);
  if (loop >= 0) {
    const path = above.slice(0, loop + 1).map(({ name }) => name);
    return { ...data, subkeysOf: path.join('.') };
  }
  const inside = { refuse, above: [...above, { name: key.key, subkeys }] };
  return { ...data, subkeys: readKeys(subkeys, inside) };
}

/** `<string>` without its brackets. */
function bare(value: Value): Value {
  return typeof value === 'string' ? value.replace(/^<(.*)>$/, '$1') : value;
}

function isDict(value: Value | undefined): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
