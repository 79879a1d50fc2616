import type { Attribute } from '../definition/attributes.js';
import { isStorableText, parseTimestamp, parseUuid } from '../definition/values.js';
import type { Column, Scalar } from './filter-node.js';

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const READERS: Record<Column['kind'], (value: unknown) => Scalar | undefined> = {
  text: toText,
  version: toText,
  integer: (value) => {
    const number = toNumber(value);
    return Number.isSafeInteger(number) ? number : undefined;
  },
  number: toNumber,
  boolean: (value) => {
    if (value === true || value === 'true') return true;
    return value === false || value === 'false' ? false : undefined;
  },
  timestamp: (value) => (typeof value === 'string' ? parseTimestamp(value) : undefined),
  uuid: (value) => (typeof value === 'string' ? parseUuid(value) : undefined),
};

const EXPECTED: Record<Column['kind'], string> = {
  text: 'a string',
  version: 'a version as a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  timestamp:
    'an ISO 8601 time with offset, a date, or a duration such as P30D (weeks, days and hours)',
  uuid: 'a UUID',
};

function toText(value: unknown): string | undefined {
  return typeof value === 'string' && isStorableText(value) ? value : undefined;
}

// `filter[name]=v` and some clients send numbers as strings.
function toNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** How an attribute is compared; undefined if it can't be filtered by. */
export function columnOf(name: string, attribute: Attribute): Column | undefined {
  const { filterable, writeOnly } = attribute;
  if (!filterable || writeOnly || attribute.kind === 'json') return undefined;
  const kind = attribute.kind === 'enum' ? 'text' : attribute.kind;
  if (attribute.isVersion) return { name, kind: 'version', ignoreCase: false };
  return { name, kind, ignoreCase: attribute.ignoreCase === true };
}

/** Those of `names` that can be filtered by. */
export function columnsOf(
  names: readonly string[],
  attributes: Readonly<Record<string, Attribute>>,
): Column[] {
  return names.flatMap((name) => {
    const attribute = attributes[name];
    return (attribute && columnOf(name, attribute)) ?? [];
  });
}

/** Whether patterns apply to the column. */
export function isText({ kind }: Column): boolean {
  return kind === 'text' || kind === 'version';
}

/** `value` converted to the column's type; undefined if it is of another type. */
export function readValue(column: Column, value: unknown): Scalar | undefined {
  return READERS[column.kind](value);
}

const DURATION = /^P(?=.)(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(\d{1,5})H)?$/;
const TEN_YEARS = 10 * 366 * 24;

/** The hours of an ISO 8601 duration in weeks, days and hours, from 1 hour to 10 years. */
export function readHours(value: unknown): number | undefined {
  const match = typeof value === 'string' ? DURATION.exec(value) : null;
  if (match === null) return undefined;
  const [weeks = 0, days = 0, hours = 0] = match.slice(1).map((part) => Number(part ?? 0));
  const total = (weeks * 7 + days) * 24 + hours;
  return total >= 1 && total <= TEN_YEARS ? total : undefined;
}

/** The column's type, for error messages. */
export function expectedOf(column: Column): string {
  return EXPECTED[column.kind];
}
