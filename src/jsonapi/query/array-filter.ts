import type { Row } from '../store.js';
import type {
  Column,
  Comparison,
  FilterNode,
  NodeOf,
  Scalar,
  TextOperator,
} from './filter-node.js';

type Value = Scalar | null | undefined;
type TextRule = NodeOf<'text'>;

/** Whether a row in memory matches, as the database decides. Not for versions and relationships. */
export function matchesRow(row: Row, node: FilterNode): boolean {
  switch (node.kind) {
    case 'and':
      return node.nodes.every((inner) => matchesRow(row, inner));
    case 'or':
      return node.nodes.some((inner) => matchesRow(row, inner));
    case 'not':
      return !matchesRow(row, node.node);
    case 'null':
      return isMissing(row[node.column.name] as Value);
    case 'age':
      throw new Error('rows in memory have no times');
    case 'related':
    case 'search':
    case 'codes':
      throw new Error(`rows in memory have no rule of the kind ${node.kind}`);
    default:
      return matchesValue(row, node);
  }
}

type ValueNode = NodeOf<'compare' | 'columns' | 'text' | 'in' | 'between'>;

function matchesValue(row: Row, node: ValueNode): boolean {
  const value = valueIn(row, node.column);
  const key = (given: Scalar) => keyOf(given, node.column);
  if (node.kind === 'compare') return compares(value, node.op, key(node.value));
  if (node.kind === 'columns') return compares(value, node.op, valueIn(row, node.other));
  if (node.kind === 'in') return !isMissing(value) && node.values.some((one) => value === key(one));
  if (node.kind === 'text') return matchesText(value, node);
  return compares(value, 'ge', key(node.low)) && compares(value, 'le', key(node.high));
}

function valueIn(row: Row, column: Column): Value {
  return keyOf(row[column.name] as Value, column);
}

/** What is compared; each side of a comparison of two columns has its own. */
function keyOf(value: Value, { ignoreCase }: Column): Value {
  return ignoreCase && typeof value === 'string' ? fold(value) : value;
}

function isMissing(value: Value): value is null | undefined {
  return value === null || value === undefined;
}

/** Negative, 0 or positive. */
export function compareValues(left: Scalar, right: Scalar): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function compares(left: Value, op: Comparison, right: Value): boolean {
  if (op === 'ne') return !compares(left, 'eq', right) && !(isMissing(left) && isMissing(right));
  if (isMissing(left) || isMissing(right)) return false;
  const order = compareValues(left, right);
  if (op === 'eq') return order === 0;
  if (op === 'gt') return order > 0;
  if (op === 'ge') return order >= 0;
  return op === 'lt' ? order < 0 : order <= 0;
}

function fold(text: string): string {
  return text.toLowerCase();
}

const IGNORES_CASE = new Set<TextOperator>(['ilike', 'notilike']);

function matchesText(value: Value, { column, op, value: pattern }: TextRule): boolean {
  const isNegated = op === 'notlike' || op === 'notilike';
  if (typeof value !== 'string') return isNegated;
  const isFolded = column.ignoreCase || IGNORES_CASE.has(op);
  const [text, wanted] = isFolded ? [fold(value), fold(pattern)] : [value, pattern];
  if (op === 'startswith') return text.startsWith(wanted);
  if (op === 'endswith') return text.endsWith(wanted);
  if (op === 'contains') return text.includes(wanted);
  return isLike([...text], wildcards(wanted)) !== isNegated;
}

const ANY_TEXT = Symbol('%');
const ANY_CHARACTER = Symbol('_');
type Wildcard = string | typeof ANY_TEXT | typeof ANY_CHARACTER;

/** A backslash makes the next character literal. */
function wildcards(pattern: string): Wildcard[] {
  return (pattern.match(/\\?./gsu) ?? []).map((part) => {
    if (part === '%') return ANY_TEXT;
    return part === '_' ? ANY_CHARACTER : part.replace(/^\\(?=.)/su, '');
  });
}

/** Not a regular expression, which would backtrack without end over a pattern with many `%`. */
function isLike(text: string[], pattern: Wildcard[]): boolean {
  let [at, next] = [0, 0];
  let [retryAt, retryNext] = [0, -1];
  while (at < text.length) {
    const wanted = pattern[next];
    if (wanted === ANY_TEXT) {
      [retryAt, retryNext] = [at, next];
      next += 1;
    } else if (wanted === ANY_CHARACTER || wanted === text[at]) {
      at += 1;
      next += 1;
    } else if (retryNext >= 0) {
      retryAt += 1;
      [at, next] = [retryAt, retryNext + 1];
    } else {
      return false;
    }
  }
  return pattern.slice(next).every((rest) => rest === ANY_TEXT);
}
