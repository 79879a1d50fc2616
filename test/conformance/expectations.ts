import type { Attribute } from '../../src/jsonapi/definition/attributes.js';

export interface Resource {
  id: number;
  attributes: Record<string, unknown>;
}

type Comparable = string | number;

function comparable(value: unknown, { kind }: Attribute): Comparable | null {
  if (value === null) return null;
  if (kind === 'timestamp') return Date.parse(String(value));
  return kind === 'boolean' ? Number(value) : (value as Comparable);
}

/** What has no value comes last both ways, ties by id in the same direction. */
export function sorted(rows: Resource[], name: string, attribute: Attribute, sign: 1 | -1) {
  const compare = (left: Resource, right: Resource) => {
    const a = comparable(left.attributes[name], attribute);
    const b = comparable(right.attributes[name], attribute);
    if (a === b) return sign * (left.id - right.id);
    if (a === null || b === null) return a === null ? 1 : -1;
    return a < b ? -sign : sign;
  };
  return [...rows].sort(compare).map((row) => row.id);
}

export interface FilterCase {
  op: string;
  val: unknown;
  matches: (value: unknown) => boolean;
}

/** Every operator that applies to the kind, with the rows it must find around `value`. */
export function filterCases(attribute: Attribute, value: unknown): FilterCase[] {
  const pivot = comparable(value, attribute) ?? 0;
  const ordered = (test: (other: Comparable) => boolean) => (other: unknown) => {
    const known = comparable(other, attribute);
    return known !== null && test(known);
  };
  const equality: FilterCase[] = [
    { op: 'eq', val: value, matches: (other) => other === value },
    { op: 'ne', val: value, matches: (other) => other !== value },
    { op: 'in_', val: [value], matches: (other) => other === value },
    { op: 'in_', val: [], matches: () => false },
    { op: 'notin_', val: [value], matches: (other) => other !== value },
    { op: 'is_', val: null, matches: (other) => other === null },
    { op: 'isnot', val: null, matches: (other) => other !== null },
    { op: 'eq', val: null, matches: (other) => other === null },
  ];
  if (attribute.kind === 'boolean') {
    const is: FilterCase[] = [
      { op: 'is_', val: true, matches: (other) => other === true },
      { op: 'isnot', val: true, matches: (other) => other !== true },
    ];
    return [...equality, ...is];
  }
  const order: FilterCase[] = [
    { op: 'gt', val: value, matches: ordered((other) => other > pivot) },
    { op: 'ge', val: value, matches: ordered((other) => other >= pivot) },
    { op: 'lt', val: value, matches: ordered((other) => other < pivot) },
    { op: 'le', val: value, matches: ordered((other) => other <= pivot) },
    { op: 'between', val: [value, value], matches: ordered((other) => other === pivot) },
  ];
  const isText = attribute.kind === 'text' || attribute.kind === 'enum';
  return [...equality, ...order, ...(isText ? textCases(String(value)) : [])];
}

function textCases(value: string): FilterCase[] {
  const test = (check: (other: string) => boolean) => (other: unknown) =>
    typeof other === 'string' && check(other);
  const start = value.slice(0, -1);
  const same = (other: unknown) => other === value;
  return [
    { op: 'startswith', val: start, matches: test((other) => other.startsWith(start)) },
    {
      op: 'endswith',
      val: value.slice(1),
      matches: test((other) => other.endsWith(value.slice(1))),
    },
    { op: 'contains', val: value, matches: test((other) => other.includes(value)) },
    { op: 'like', val: `${start}_`, matches: test((other) => other.slice(0, -1) === start) },
    { op: 'ilike', val: value.toUpperCase().replace(/\\|%|_/g, '\\$&'), matches: same },
    { op: 'notlike', val: '%', matches: (other) => other === null },
    { op: 'notilike', val: value.replace(/\\|%|_/g, '\\$&'), matches: (other) => !same(other) },
  ];
}
