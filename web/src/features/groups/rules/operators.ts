// Imports with extensions: tests that run in Node read this file, too.
import { faultOfValue } from '../../../api/fact-values.js';
import { FACTS, type FactKind } from '../../../api/facts.js';

export interface Comparison {
  fact: string;
  op: string;
  value: string;
  /** The name of a custom attribute, or the bundle identifier of an application. */
  detail: string;
}

const ORDER = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'];

const OPERATORS: Record<FactKind, readonly string[]> = {
  text: ['eq', 'ne', 'contains', 'startswith', 'endswith', 'unknown', 'known'],
  version: [...ORDER, 'startswith', 'unknown', 'known'],
  number: [...ORDER, 'unknown', 'known'],
  boolean: ['true', 'false', 'unknown'],
  choice: ['eq', 'ne', 'unknown', 'known'],
  time: ['older', 'newer', 'unknown', 'known'],
  reference: ['eq', 'ne', 'unknown', 'known'],
  tag: ['has', 'lacks'],
  group: ['has', 'lacks'],
  attribute: ['is', 'isnot', 'exists', 'missing'],
  application: ['installed', 'missing', 'before', 'from'],
};

const WITHOUT_VALUE = new Set(['true', 'false', 'unknown', 'known']);
const BY_DETAIL_ALONE = new Set(['exists', 'missing', 'installed']);

export function kindOfFact(fact: string): FactKind {
  return FACTS[fact]?.kind ?? 'text';
}

export function operatorsOf(fact: string): readonly string[] {
  return OPERATORS[kindOfFact(fact)];
}

export function hasDetail(fact: string): boolean {
  const kind = kindOfFact(fact);
  return kind === 'attribute' || kind === 'application';
}

export function hasValue({ fact, op }: Pick<Comparison, 'fact' | 'op'>): boolean {
  return !(WITHOUT_VALUE.has(op) || (hasDetail(fact) && BY_DETAIL_ALONE.has(op)));
}

/** What is wrong with the value that was typed; undefined while there is none. */
export function faultOf(comparison: Comparison): string | undefined {
  const { fact, value } = comparison;
  if (!hasValue(comparison) || value.trim() === '') return undefined;
  return faultOfValue(kindOfFact(fact), fact, value);
}

/** Whether nothing is left to fill in or to correct. */
export function isComplete(comparison: Comparison): boolean {
  const { fact, value, detail } = comparison;
  if (hasDetail(fact) && detail.trim() === '') return false;
  if (!hasValue(comparison)) return true;
  return value.trim() !== '' && faultOf(comparison) === undefined;
}
