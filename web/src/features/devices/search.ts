import * as z from 'zod/mini';
import { faultOfValue } from '../../api/fact-values.js';
import { LEAST_WIDTH, MAX_WIDTH } from '../../ui/widths.js';
import { FILTERS, type Kind, kindOf } from './attributes.js';
import { membershipRule } from './membership.js';

const CHIPS = z.union([
  z.array(z.string()),
  z.pipe(
    z.string(),
    z.transform((chip) => [chip]),
  ),
]);
const WIDTH = z.number().check(z.gte(LEAST_WIDTH), z.lte(MAX_WIDTH));

/** What shapes the list; all of it stands in the address. A filter is `attribute~operator~value`. */
export const devicesSearch = z.object({
  q: z.catch(z.optional(z.coerce.string()), undefined),
  f: z.catch(z.optional(CHIPS), undefined),
  sort: z.catch(z.optional(z.string().check(z.regex(/^-?[a-z_]+$/))), undefined),
  cols: z.catch(z.optional(z.array(z.string())), undefined),
  /** Pixels of the columns that a person made wider or narrower. */
  w: z.catch(z.optional(z.record(z.string(), WIDTH)), undefined),
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
  const value = rest.join('~');
  if (!Object.hasOwn(FILTERS, name) || !operatorsOf(name).includes(op)) return undefined;
  const fault = hasValue(op) ? faultOfValue(kindOf(name), name, value) : undefined;
  return fault === undefined ? { name, op, value } : undefined;
}

export function chipOf({ name, op, value }: FilterRule): string {
  return `${name}~${op}~${value}`;
}

const OPERATORS: Record<Kind, readonly string[]> = {
  text: ['contains', 'eq', 'startswith', 'endswith', 'ne', 'empty', 'known'],
  version: ['eq', 'lt', 'ge', 'startswith', 'empty', 'known'],
  number: ['eq', 'ne', 'less', 'least', 'empty', 'known'],
  time: ['older', 'newer', 'empty', 'known'],
  boolean: ['eq', 'ne', 'empty', 'known'],
  choice: ['eq', 'ne', 'empty', 'known'],
  membership: ['has', 'lacks'],
};

export function operatorsOf(name: string): readonly string[] {
  return OPERATORS[kindOf(name)];
}

export function hasValue(op: string): boolean {
  return op !== 'empty' && op !== 'known';
}

/** The filter as the API takes it: rules that must all hold. */
export function apiRules({ q, f }: DevicesSearch): Record<string, unknown>[] {
  const search = q?.trim() ?? '';
  return [
    ...(search.length >= 3 ? [{ name: 'search', op: 'contains', val: search }] : []),
    ...(f ?? []).map(ruleOfChip),
  ];
}

/** A chip that is no rule goes as it is, and the API refuses it: without it, more devices would match. */
function ruleOfChip(chip: string): Record<string, unknown> {
  const rule = parseRule(chip);
  if (rule !== undefined) return apiRule(rule);
  const [name = '', op = '', ...rest] = chip.split('~');
  return { name, op, val: rest.join('~') };
}

function apiRule({ name, op, value }: FilterRule): Record<string, unknown> {
  if (kindOf(name) === 'membership') return membershipRule({ name, op, value });
  if (op === 'empty') return { name, op: 'is', val: null };
  if (op === 'older') return { name, op: 'lt', val: `P${Number(value)}D` };
  if (op === 'newer') return { name, op: 'gt', val: `P${Number(value)}D` };
  if (op === 'known') return { name, op: 'isnot', val: null };
  if (op === 'less') return { name, op: 'lt', val: Number(value) };
  if (op === 'least') return { name, op: 'ge', val: Number(value) };
  return { name, op, val: typed(name, value) };
}

function typed(name: string, value: string): string | number | boolean {
  const kind = kindOf(name);
  if (kind === 'number') return Number(value);
  return kind === 'boolean' ? value === 'true' : value;
}

/** Click on a heading: ascending, descending, as before. */
export function nextSort(column: string, sort: string | undefined): string | undefined {
  if (sort === column) return `-${column}`;
  return sort === `-${column}` ? undefined : column;
}

/** The widths after one was chosen; none where every column has its own again. */
export function withWidth(
  widths: DevicesSearch['w'],
  column: string,
  width: number | undefined,
): DevicesSearch['w'] {
  const { [column]: _former, ...others } = widths ?? {};
  const changed = width === undefined ? others : { ...others, [column]: width };
  return Object.keys(changed).length === 0 ? undefined : changed;
}
