import { isReadable } from '../attributes.js';
import { hasRole } from '../context.js';
import { member, type ResourceDefinition, relatedDefinition } from '../definition.js';
import { columnOf } from './column-values.js';
import type { QueryContext } from './context.js';
import type { Column, FilterNode } from './filter-node.js';
import { parseFieldRule, parseValueRule } from './filter-rules.js';
import { invalidParameter } from './invalid-parameter.js';

const MAX_DEPTH = 5;
export const MAX_RULES = 50;
const COMBINATIONS = new Set(['and', 'or', 'not']);

/** Shared by all filters of one request: the limits count them together. */
export interface FilterContext extends QueryContext {
  rules: number;
}

interface Place {
  context: FilterContext;
  definition: ResourceDefinition;
  parameter: string;
  depth: number;
}

type Json = Record<string, unknown>;

/** One entry of the query string, `filter`, `filter[]` or `filter[name]`, checked and typed. */
export function parseFilter(
  entry: { parameter: string; value: string },
  definition: ResourceDefinition,
  context: FilterContext,
): FilterNode[] {
  const { parameter, value } = entry;
  const place: Place = { context, definition, parameter, depth: 0 };
  const name = /^filter\[(.+)\]$/.exec(parameter)?.[1];
  if (name !== undefined) return [parseLeaf({ name, op: 'eq', val: value }, place)];
  const rules = parseJson(value, parameter);
  if (Array.isArray(rules)) return rules.map((rule) => parseRule(rule, place));
  if (parameter === 'filter[]') return [parseRule(rules, place)];
  throw invalidParameter(parameter, 'filter must be a JSON array of rules');
}

function parseJson(text: string, parameter: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidParameter(parameter, `${parameter} is not valid JSON`);
  }
}

function parseRule(rule: unknown, place: Place): FilterNode {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    throw invalidParameter(place.parameter, 'each rule of a filter must be an object');
  }
  const keys = Object.keys(rule);
  const [key] = keys;
  if (keys.length === 1 && (key === 'and' || key === 'or' || key === 'not')) {
    return parseCombination(key, (rule as Json)[key], deeper(place));
  }
  return parseLeaf(rule as Json, place);
}

function deeper(place: Place): Place {
  const depth = place.depth + 1;
  if (depth <= MAX_DEPTH) return { ...place, depth };
  throw invalidParameter(place.parameter, `a filter may nest ${MAX_DEPTH} levels deep`);
}

function parseCombination(kind: 'and' | 'or' | 'not', value: unknown, place: Place): FilterNode {
  if (kind === 'not') return { kind, node: parseRule(value, place) };
  if (!Array.isArray(value) || value.length === 0) {
    throw invalidParameter(place.parameter, `"${kind}" takes an array of rules`);
  }
  return { kind, nodes: value.map((rule) => parseRule(rule, place)) };
}

function parseLeaf(rule: Json, place: Place): FilterNode {
  const { parameter, context } = place;
  context.rules += 1;
  if (context.rules > MAX_RULES) {
    throw invalidParameter(parameter, `a filter may have ${MAX_RULES} rules`);
  }
  const stray = Object.keys(rule).find((key) => !['name', 'op', 'val', 'field'].includes(key));
  if (stray !== undefined && COMBINATIONS.has(stray)) {
    throw invalidParameter(parameter, '"and", "or" and "not" each stand alone in a rule');
  }
  if (stray !== undefined) throw invalidParameter(parameter, `unknown member "${stray}" of a rule`);
  const { name, op } = rule;
  if (typeof name !== 'string' || typeof op !== 'string') {
    throw invalidParameter(parameter, 'a rule needs "name" and "op", both strings');
  }
  const [first = '', ...further] = name.split('__');
  if (further.length > 0) return parseDotted({ ...rule, name: further.join('__') }, first, place);
  if (member(place.definition.relationships, name)) return parseRelated(rule, name, place);
  return parseComparison(rule, columnNamed(name, place), place);
}

function columnNamed(name: string, { context, definition, parameter }: Place): Column {
  if (name === 'id') return { name, kind: 'integer', ignoreCase: false };
  const attribute = member(definition.attributes, name);
  const column = attribute && columnOf(name, attribute);
  if (column && isReadable(attribute, context.actor)) return column;
  throw invalidParameter(parameter, `${definition.type} can't be filtered by "${name}"`);
}

function parseComparison(rule: Json, column: Column, place: Place): FilterNode {
  const { parameter } = place;
  const op = String(rule.op);
  if ('val' in rule === 'field' in rule) {
    throw invalidParameter(parameter, 'a rule needs either "val" or "field"');
  }
  if (!('field' in rule)) {
    const values = place.definition.attributes[column.name]?.values;
    return parseValueRule({ column, op, value: rule.val, parameter, ...(values && { values }) });
  }
  if (typeof rule.field !== 'string') throw invalidParameter(parameter, '"field" must be a name');
  return parseFieldRule({ column, op, other: columnNamed(rule.field, place), parameter });
}

/** The same place seen from the resource at the other end of `name`. */
function across(name: string, place: Place) {
  const { definition, parameter, context } = place;
  const relation = member(definition.relationships, name);
  if (!relation) {
    throw invalidParameter(parameter, `${definition.type} has no relationship "${name}"`);
  }
  const shape = relatedDefinition(context.registry, relation);
  if (!hasRole(context.actor, shape.access.read)) {
    throw invalidParameter(parameter, `your role can't filter by "${name}"`);
  }
  return { relation, shape, inside: { ...deeper(place), definition: shape } };
}

// {"name":"device__tags__name","op":"eq","val":…}; the operators any and has mean equality here.
function parseDotted(rule: Json, name: string, place: Place): FilterNode {
  const { relation, shape, inside } = across(name, place);
  const [first = '', ...further] = String(rule.name).split('__');
  const node =
    further.length > 0
      ? parseDotted({ ...rule, name: further.join('__') }, first, inside)
      : parseComparison(equality(rule), columnNamed(first, inside), inside);
  return { kind: 'related', relation, shape, node };
}

function equality(rule: Json): Json {
  return rule.op === 'any' || rule.op === 'has' ? { ...rule, op: 'eq' } : rule;
}

function parseRelated(rule: Json, name: string, place: Place): FilterNode {
  const { relation, shape, inside } = across(name, place);
  const expected = relation.kind === 'toMany' ? 'any' : 'has';
  if (rule.op !== expected) {
    throw invalidParameter(place.parameter, `"${name}" takes the operator "${expected}"`);
  }
  return { kind: 'related', relation, shape, node: parseRule(rule.val, inside) };
}
