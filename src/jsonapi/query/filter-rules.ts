import { type AppError, knownNames } from '../../errors.js';
import type { CodesOfRow } from '../definition/shape.js';
import { expectedOf, isText, readHours, readValue } from './column-values.js';
import {
  COMPARISONS,
  type Column,
  type Comparison,
  type FilterNode,
  IDENTITIES,
  PATTERNS,
  type Scalar,
  SETS,
  TEXT_PARTS,
  type TextOperator,
} from './filter-node.js';
import { invalidParameter } from './parameters.js';

const MAX_VALUES = 1000;

export interface ValueRule {
  column: Column;
  op: string;
  value: unknown;
  /** The query parameter, for errors. */
  parameter: string;
  /** The values of an enum. */
  values?: readonly string[] | undefined;
}

interface FieldRule {
  column: Column;
  op: string;
  other: Column;
  parameter: string;
}

const TEXT_OPERATORS = [...PATTERNS, ...TEXT_PARTS];

type Parser = (rule: ValueRule) => FilterNode;

const PARSERS: ReadonlyMap<string, Parser> = new Map<string, Parser>([
  ...COMPARISONS.map((op): [string, Parser] => [op, (rule) => compare(rule, op)]),
  ...TEXT_OPERATORS.map((op): [string, Parser] => [op, (rule) => text(rule, op)]),
  ...SETS.map((op): [string, Parser] => [op, negatedIf(op.startsWith('not'), oneOf)]),
  ...IDENTITIES.map((op): [string, Parser] => [op, negatedIf(op === 'isnot', is)]),
  ['between', between],
]);

function negatedIf(isNegated: boolean, parse: Parser): Parser {
  return isNegated ? (rule) => ({ kind: 'not', node: parse(rule) }) : parse;
}

/** Ids have no meaningful order and no parts. */
const LINK_OPERATORS = new Set<string>(['eq', 'ne', ...SETS, ...IDENTITIES]);

/** A rule with "val". AppError 400 for an unknown operator or a value of the wrong type. */
export function parseValueRule(rule: ValueRule): FilterNode {
  const parse = PARSERS.get(rule.op);
  if (parse) return parse(rule);
  const known = knownNames(rule.op, [...PARSERS.keys()]);
  throw invalidParameter(rule.parameter, `unknown operator "${rule.op}"; ${known}`);
}

/** A rule on the ids of a relationship. AppError 400 as parseValueRule. */
export function parseLinkRule(rule: ValueRule): FilterNode {
  if (LINK_OPERATORS.has(rule.op)) return parseValueRule(rule);
  const message = `"${labelOf(rule.column)}" takes the operator "has" or one for ids, such as "eq"`;
  throw invalidParameter(rule.parameter, message);
}

/** A rule with "field": two columns of one resource compared. */
export function parseFieldRule({ column, op, other, parameter }: FieldRule): FilterNode {
  const comparison = COMPARISONS.find((known) => known === op);
  if (!comparison) {
    const message = `"${op}" can't compare two fields; ${knownNames(op, COMPARISONS)}`;
    throw invalidParameter(parameter, message);
  }
  if (family(column) !== family(other)) {
    throw invalidParameter(
      parameter,
      `"${labelOf(column)}" and "${labelOf(other)}" differ in type`,
    );
  }
  checkOrder(column, comparison, parameter);
  return { kind: 'columns', column, op: comparison, other };
}

function labelOf({ name, label = name }: Column): string {
  return label;
}

function family({ kind }: Column): string {
  return kind === 'integer' ? 'number' : kind;
}

function checkOrder(column: Column, op: Comparison | 'between', parameter: string): void {
  if (op === 'eq' || op === 'ne' || column.kind !== 'boolean') return;
  throw invalidParameter(parameter, `"${op}" does not apply to "${labelOf(column)}"`);
}

function read({ column, parameter, values }: ValueRule, value: unknown): Scalar {
  const scalar = readValue(column, value);
  if (scalar === undefined) {
    if (isText(column) && typeof value === 'string') throw unstorable(column, parameter);
    throw invalidParameter(
      parameter,
      `"${labelOf(column)}" is compared with ${expectedOf(column)}`,
    );
  }
  if (values && !values.includes(String(scalar))) {
    throw invalidParameter(parameter, `"${labelOf(column)}" must be one of ${values.join(', ')}`);
  }
  return scalar;
}

/** No stored text can hold it. */
function unstorable(column: Column, parameter: string): AppError {
  const message = `the value that "${labelOf(column)}" is compared with holds an invalid character`;
  return invalidParameter(parameter, message);
}

function compare(rule: ValueRule, op: Comparison): FilterNode {
  const { column, value, parameter } = rule;
  checkOrder(column, op, parameter);
  const hours = column.kind === 'timestamp' ? readHours(value) : undefined;
  if (hours !== undefined) return age(rule, op, hours);
  if (value !== null) return { kind: 'compare', column, op, value: read(rule, value) };
  if (op === 'eq') return { kind: 'null', column };
  if (op === 'ne') return { kind: 'not', node: { kind: 'null', column } };
  throw invalidParameter(parameter, `"${op}" can't compare with null`);
}

function age({ column, parameter }: ValueRule, op: Comparison, hours: number): FilterNode {
  if (op !== 'eq' && op !== 'ne') return { kind: 'age', column, op, hours };
  throw invalidParameter(
    parameter,
    `"${op}" can't compare with a duration; lt is older, gt younger`,
  );
}

function text({ column, value, parameter }: ValueRule, op: TextOperator): FilterNode {
  if (!isText(column)) {
    throw invalidParameter(parameter, `"${op}" does not apply to "${labelOf(column)}"`);
  }
  const pattern = readValue(column, value);
  if (typeof pattern !== 'string') {
    if (typeof value === 'string') throw unstorable(column, parameter);
    throw invalidParameter(parameter, `"${op}" takes a string`);
  }
  const isPattern = PATTERNS.some((known) => known === op);
  if (isPattern && /(?<!\\)(\\\\)*\\$/.test(pattern)) {
    throw invalidParameter(parameter, 'a pattern must not end with its escape character');
  }
  return { kind: 'text', column, op, value: pattern };
}

function oneOf(rule: ValueRule): FilterNode {
  const { column, value, parameter } = rule;
  if (!Array.isArray(value) || value.length > MAX_VALUES) {
    throw invalidParameter(parameter, `"${rule.op}" takes an array of up to ${MAX_VALUES} values`);
  }
  return { kind: 'in', column, values: value.map((item) => read(rule, item)) };
}

function between(rule: ValueRule): FilterNode {
  const { column, value, parameter } = rule;
  checkOrder(column, 'between', parameter);
  if (!Array.isArray(value) || value.length !== 2) {
    throw invalidParameter(parameter, '"between" takes an array of two values');
  }
  return { kind: 'between', column, low: read(rule, value[0]), high: read(rule, value[1]) };
}

function is(rule: ValueRule): FilterNode {
  const { column, value, parameter } = rule;
  if (value === null) return { kind: 'null', column };
  if (typeof value === 'boolean' && column.kind === 'boolean') {
    return { kind: 'compare', column, op: 'eq', value, isIdentity: true };
  }
  throw invalidParameter(parameter, `"${rule.op}" takes null, or true or false of a boolean`);
}

interface CodesRule {
  name: string;
  op: unknown;
  value: unknown;
  parameter: string;
  /** `filter[name]=a,b`: the commas separate codes. */
  isShort: boolean;
}

/** AppError 400 unless the rule compares by `eq` with one known code, or by `in` with an array of them. */
export function codesNode(codes: CodesOfRow, rule: CodesRule): FilterNode {
  const { name, parameter } = rule;
  const values = valuesOf(rule);
  if (values === undefined) {
    throw invalidParameter(parameter, `"${name}" takes "eq" with a code, or "in" with an array`);
  }
  const unknown = values.find((value) => !codes.values.includes(value));
  if (unknown === undefined) return { kind: 'codes', codes, values };
  const message = `"${name}" has no code "${unknown}"; ${knownNames(unknown, codes.values)}`;
  throw invalidParameter(parameter, message);
}

function valuesOf({ op, value, isShort }: CodesRule): string[] | undefined {
  if (op === 'eq' && typeof value === 'string') return isShort ? value.split(',') : [value];
  if (op !== 'in' || !Array.isArray(value)) return undefined;
  return value.every((one) => typeof one === 'string') ? value : undefined;
}
