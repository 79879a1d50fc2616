// Imports with extensions: tests that run in Node read this file, too.
import { FACTS } from '../../../api/facts.js';
import { type Comparison, isComplete, kindOfFact, operatorsOf } from './operators.js';

export type Match = 'all' | 'any' | 'none';

export interface Condition extends Comparison {
  kind: 'condition';
  key: number;
}

/** Comparisons, and blocks of them, of which all, one or none must hold. */
export interface Block {
  kind: 'block';
  key: number;
  match: Match;
  parts: Part[];
}

export type Part = Condition | Block;
export type ApiRule = Record<string, unknown>;

let lastKey = 0;

export function newCondition(fact = 'platform'): Condition {
  lastKey += 1;
  const op = operatorsOf(fact)[0] ?? 'eq';
  const value = FACTS[fact]?.values?.[0] ?? '';
  return { kind: 'condition', key: lastKey, fact, op, value, detail: '' };
}

export function newBlock(match: Match, parts: Part[]): Block {
  lastKey += 1;
  return { kind: 'block', key: lastKey, match, parts };
}

/** Undefined while something is to be filled in or corrected. */
export function writeRule({ match, parts }: Block): ApiRule[] | undefined {
  if (parts.length === 0 || !parts.every(isWhole)) return undefined;
  const rules = parts.map(writePart);
  return match === 'all' ? rules : [combine(match, rules)];
}

function isWhole(part: Part): boolean {
  if (part.kind === 'condition') return isComplete(part);
  return part.parts.length > 0 && part.parts.every(isWhole);
}

function writePart(part: Part): ApiRule {
  if (part.kind === 'condition') return writeComparison(part);
  return combine(part.match, part.parts.map(writePart));
}

function combine(match: Match, rules: ApiRule[]): ApiRule {
  if (match === 'all') return { and: rules };
  return match === 'any' ? { or: rules } : { not: { or: rules } };
}

/** The filter of the API for one comparison. */
export function writeComparison({ fact: name, op, value, detail }: Comparison): ApiRule {
  const any = (val: ApiRule): ApiRule => ({ name, op: 'any', val });
  const eq = (column: string, val: unknown): ApiRule => ({ name: column, op: 'eq', val });
  switch (op) {
    case 'unknown':
      return { name, op: 'is', val: null };
    case 'known':
      return { name, op: 'isnot', val: null };
    case 'true':
    case 'false':
      return eq(name, op === 'true');
    case 'older':
      return { name, op: 'lt', val: `P${Number(value)}D` };
    case 'newer':
      return { name, op: 'gt', val: `P${Number(value)}D` };
    case 'has':
      return any(eq('id', Number(value)));
    case 'lacks':
      return { not: any(eq('id', Number(value))) };
    case 'exists':
      return any(eq('name', detail));
    case 'is':
      return any({ and: [eq('name', detail), eq('value', value)] });
    case 'isnot':
      return { not: any({ and: [eq('name', detail), eq('value', value)] }) };
    case 'installed':
      return any(eq('bundle_identifier', detail));
    case 'missing': {
      const column = name === 'custom_attributes' ? 'name' : 'bundle_identifier';
      return { not: any(eq(column, detail)) };
    }
    case 'before':
    case 'from': {
      const version = { name: 'short_version', op: op === 'before' ? 'lt' : 'ge', val: value };
      return any({ and: [eq('bundle_identifier', detail), version] });
    }
    default:
      return { name, op, val: isNumeric(name) ? Number(value) : value };
  }
}

function isNumeric(fact: string): boolean {
  const kind = kindOfFact(fact);
  return kind === 'number' || kind === 'reference';
}

/** The blocks of a rule; undefined where it has what they cannot show. */
export function readRule(rules: readonly unknown[]): Block | undefined {
  if (rules.length === 1) {
    const block = readBlock(rules[0]);
    if (block !== undefined) return block;
  }
  return blockOf('all', rules);
}

function readBlock(rule: unknown): Block | undefined {
  const { and, or, not } = (rule ?? {}) as { and?: unknown; or?: unknown; not?: ApiRule };
  if (Array.isArray(and)) return blockOf('all', and);
  if (Array.isArray(or)) return blockOf('any', or);
  return Array.isArray(not?.or) ? blockOf('none', not.or) : undefined;
}

function blockOf(match: Match, rules: readonly unknown[]): Block | undefined {
  const parts = rules.map((rule) => readBlock(rule) ?? readCondition(rule));
  const isWholly = parts.every((part) => part !== undefined);
  return isWholly ? newBlock(match, parts) : undefined;
}

/** The comparison that is written so. */
function readCondition(rule: unknown): Condition | undefined {
  const { not, ...plain } = (rule ?? {}) as ApiRule & { not?: ApiRule };
  const { name, val } = not ?? plain;
  const fact = String(name);
  if (!(fact in FACTS)) return undefined;
  const wanted = canonical(rule);
  for (const op of operatorsOf(fact)) {
    const condition: Condition = { ...newCondition(fact), op, ...textsOf(val) };
    if (canonical(writeComparison(condition)) === wanted) return condition;
  }
  return undefined;
}

function textsOf(val: unknown): { value: string; detail: string } {
  if (typeof val !== 'object' || val === null) {
    const duration = /^P(\d+)D$/.exec(String(val))?.[1];
    return { value: duration ?? String(val ?? ''), detail: '' };
  }
  const { and, val: inner } = val as { and?: { val?: unknown }[]; val?: unknown };
  if (and !== undefined) return { detail: String(and[0]?.val), value: String(and[1]?.val) };
  return { value: String(inner), detail: String(inner) };
}

/** The server may keep the members of an object in another order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
