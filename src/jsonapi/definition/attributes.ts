import { type ZodType, z } from 'zod';
import { type Actor, hasRole, type Role } from '../context.js';
import { faultOfJson, isStorableText, parseTimestamp, parseUuid } from './values.js';

export type AttributeKind =
  | 'text'
  | 'enum'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'timestamp'
  | 'uuid'
  | 'json';

/** When a client may set an attribute. Otherwise its value in a document is ignored. */
export type WriteRule = 'always' | 'create' | 'update' | 'never';

export interface AttributeOptions {
  write?: WriteRule;
  /** Must be set on create. Implies that it can't be null. */
  required?: boolean;
  nullable?: boolean;
  /** May be written, but never shown, filtered or sorted. */
  writeOnly?: boolean;
  /** The role that reading it needs, if higher than that of the resource. */
  readRole?: Role;
  /** A credential that its readers may see: the audit trail says only that it has changed. */
  isCredential?: boolean;
  sortable?: boolean;
  filterable?: boolean;
  /** Equality ignores case, as for UDIDs and payload identifiers. */
  ignoreCase?: boolean;
  /** Several values in one text: `filter[name]=value` finds the texts that contain it. */
  hasSeveralValues?: boolean;
  /** Compared and sorted as a version: 9.3.5 before 15.7.9 before 15.7.10. */
  isVersion?: boolean;
  /** Omitted from lists and included resources unless `fields[type]` names it. */
  heavy?: boolean;
  /** Only in documents whose `fields[type]` names it: each value needs a separate read. */
  onRequest?: boolean;
  /** Changes without writes by clients, so If-Match does not protect it. */
  volatile?: boolean;
  /** The values that clients may write, if fewer than those shown. */
  accepts?: readonly string[];
  /** Computed from these columns by the definition's `derive`, not stored. */
  derivedFrom?: string[];
}

export interface Attribute extends AttributeOptions {
  kind: AttributeKind;
  write: WriteRule;
  nullable: boolean;
  sortable: boolean;
  filterable: boolean;
  /** Validates a value that is not null; its output is the column's value. */
  schema: ZodType;
  /** The values of an enum. */
  values?: readonly string[];
}

/** Whether an actor that may read the resource may read this attribute. */
export function isReadable({ writeOnly, readRole }: AttributeOptions, actor: Actor): boolean {
  return writeOnly !== true && (readRole === undefined || hasRole(actor, readRole));
}

const INT4 = 2_147_483_647;

function attribute(
  kind: AttributeKind,
  schema: ZodType,
  options: AttributeOptions & { values?: readonly string[] },
): Attribute {
  const visible = options.writeOnly !== true && options.derivedFrom === undefined;
  const comparable = visible && kind !== 'json';
  return {
    write: 'always',
    nullable: options.required !== true,
    sortable: comparable,
    filterable: comparable,
    ...options,
    kind,
    schema,
  };
}

const storable = <S extends ZodType<string>>(schema: S) =>
  schema.refine(isStorableText, { error: 'holds an invalid character' });

interface TextOptions extends AttributeOptions {
  min?: number;
  max?: number;
  pattern?: RegExp;
  /** Describes the pattern, to follow "must be". */
  like?: string;
}

/** PostgreSQL indexes no row of more than 2,704 bytes, and a character may take four. */
const MAX_INDEXED_TEXT = 600;

/** Text of at most `max` (600) characters, optionally of one pattern. More than 600 can't be indexed. */
export function text(options: TextOptions = {}): Attribute {
  const { min = 0, max = MAX_INDEXED_TEXT, pattern, like, ...rest } = options;
  const bounded = z.string().min(min).max(max);
  const error = like === undefined ? undefined : `must be ${like}`;
  return attribute('text', storable(pattern ? bounded.regex(pattern, error) : bounded), rest);
}

/** Text of people, of at most 10,000 characters, in which search looks but no index orders. */
export function prose(options: TextOptions = {}): Attribute {
  return text({ max: 10_000, ...options });
}

/** Text of at most 255 characters that is compared as a version. An index has it beside the key of its order. */
export function version(options: TextOptions = {}): Attribute {
  return text({ max: 255, ...options, isVersion: true });
}

/** An absolute http or https URL of at most 2,000 characters, stored as sent; `rule` may add checks. */
export function url(
  options: AttributeOptions & { rule?: ZodType<string, string> } = {},
): Attribute {
  const { rule, ...rest } = options;
  const any = z.url({
    protocol: /^https?$/,
    error: (fault) =>
      (fault.code as string) === 'too_big' ? undefined : 'must be an http or https URL',
  });
  const schema = storable(any.max(2000));
  return attribute('text', rule === undefined ? schema : schema.pipe(rule), rest);
}

/** A JSON array of at most `max` (1,000) texts. */
export function textList(
  options: AttributeOptions & { max?: number; item?: ZodType<string> } = {},
): Attribute {
  const { max = 1000, item = z.string().min(1).max(1000), ...rest } = options;
  return attribute('json', storableJson(z.array(item).max(max)), rest);
}

/** A JSON array of objects. */
export function objectList(options: AttributeOptions = {}): Attribute {
  return attribute('json', storableJson(z.array(z.record(z.string(), z.json()))), options);
}

export function oneOf(values: readonly string[], options: AttributeOptions = {}): Attribute {
  return attribute('enum', z.enum([...values]), { ...options, values });
}

/** A whole number of a 32-bit column. */
export function integer(
  options: AttributeOptions & { min?: number; max?: number } = {},
): Attribute {
  const { min = -INT4 - 1, max = INT4, ...rest } = options;
  return attribute('integer', z.int().min(min).max(max), rest);
}

/** A whole number of a 64-bit column, within the exact range of JSON numbers (2^53). */
export function bigInteger(options: AttributeOptions & { min?: number } = {}): Attribute {
  const { min = Number.MIN_SAFE_INTEGER, ...rest } = options;
  return attribute('integer', z.int().min(min), rest);
}

export function float(options: AttributeOptions = {}): Attribute {
  return attribute('number', z.number(), options);
}

export function bool(options: AttributeOptions = {}): Attribute {
  return attribute('boolean', z.boolean(), options);
}

/** ISO 8601 with an offset, stored as a Date. */
export function timestamp(options: AttributeOptions = {}): Attribute {
  const schema = parsed('date-time', parseTimestamp, 'an ISO 8601 time with offset');
  return attribute('timestamp', schema, options);
}

export function uuid(options: AttributeOptions = {}): Attribute {
  return attribute('uuid', parsed('uuid', parseUuid, 'a UUID'), options);
}

/** `format`: of JSON Schema. The formats of zod itself accept other texts than `parse`. */
function parsed<T>(format: string, parse: (text: string) => T | undefined, what: string): ZodType {
  const formatted = z.string().meta({ format });
  return formatted.transform((given, issues) => {
    const value = parse(given);
    if (value !== undefined) return value;
    issues.addIssue({ code: 'custom', message: `must be ${what}` });
    return z.NEVER;
  });
}

/** Any JSON value. It can be neither filtered nor sorted by. */
export function json(options: AttributeOptions = {}): Attribute {
  return attribute('json', storableJson(z.json()), options);
}

/** JSON with a schema. */
export function jsonOf(schema: ZodType, options: AttributeOptions = {}): Attribute {
  return attribute('json', storableJson(schema), options);
}

/** A JSON object. */
export function jsonObject(options: AttributeOptions = {}): Attribute {
  return attribute('json', storableJson(z.record(z.string(), z.json())), options);
}

function storableJson(schema: ZodType): ZodType {
  const sound = z.unknown().superRefine((value, issues) => {
    const message = faultOfJson(value);
    if (message !== undefined) issues.addIssue({ code: 'custom', message });
  });
  // The depth is checked first, since the schema's own walk is recursive.
  return sound.pipe(schema);
}

/** How many related rows there are, by a function of the database with this name. */
export function count(): Attribute {
  return integer({
    write: 'never',
    nullable: false,
    volatile: true,
    onRequest: true,
    sortable: false,
    filterable: false,
  });
}

/** The same attribute under several names. */
export function each<Shared>(shared: Shared, names: string[]): Record<string, Shared> {
  return Object.fromEntries(names.map((name) => [name, shared]));
}
