import * as z from 'zod/mini';
import { ATTRIBUTES, kindOf } from './attributes.js';
import { membershipRule } from './membership.js';

/** What shapes the list; all of it stands in the address. A filter is `attribute~operator~value`. */
export const devicesSearch = z.object({
  q: z.catch(z.optional(z.coerce.string()), undefined),
  f: z.catch(z.optional(z.array(z.string())), undefined),
  sort: z.catch(z.optional(z.string().check(z.regex(/^-?[a-z_]+$/))), undefined),
  cols: z.catch(z.optional(z.array(z.string())), undefined),
});
export type DevicesSearch = z.infer<typeof devicesSearch>;

export interface FilterRule {
  name: string;
  op: string;
  value: string;
}

/** The rule of a chip; undefined where somebody edited the address into something else. */
export function parseRule(chip: string): FilterRule | undefined {
  const [name = '', op = '', ...rest] = chip.split('~');
  const isFilter = name in ATTRIBUTES || kindOf(name) === 'membership';
  const isKnown = isFilter && operatorsOf(name).includes(op);
  return isKnown ? { name, op, value: rest.join('~') } : undefined;
}

export function chipOf({ name, op, value }: FilterRule): string {
  return `${name}~${op}~${value}`;
}

export function operatorsOf(name: string): string[] {
  switch (kindOf(name)) {
    case 'text':
      return ['contains', 'eq', 'startswith', 'ne', 'empty'];
    case 'version':
      return ['eq', 'lt', 'ge', 'startswith', 'empty'];
    case 'time':
      return ['older', 'newer', 'empty'];
    case 'membership':
      return ['has', 'lacks'];
    default:
      return ['eq', 'ne', 'empty'];
  }
}

/** The filter as the API takes it: rules that must all hold. */
export function apiRules({ q, f }: DevicesSearch): Record<string, unknown>[] {
  const search = q?.trim() ?? '';
  const rules = (f ?? []).map(parseRule).filter((rule) => rule !== undefined);
  return [
    ...(search.length >= 3 ? [{ name: 'search', op: 'contains', val: search }] : []),
    ...rules.map(apiRule),
  ];
}

function apiRule({ name, op, value }: FilterRule): Record<string, unknown> {
  if (kindOf(name) === 'membership') return membershipRule({ name, op, value });
  if (op === 'empty') return { name, op: 'is', val: null };
  if (op === 'older') return { name, op: 'lt', val: `P${days(value)}D` };
  if (op === 'newer') return { name, op: 'gt', val: `P${days(value)}D` };
  return { name, op, val: kindOf(name) === 'boolean' ? value === 'true' : value };
}

function days(value: string): number {
  return Math.max(1, Math.round(Number(value)) || 1);
}

/** Click on a heading: ascending, descending, as before. */
export function nextSort(column: string, sort: string | undefined): string | undefined {
  if (sort === column) return `-${column}`;
  return sort === `-${column}` ? undefined : column;
}
