import { AppError, knownNames } from '../../errors.js';
import { hasRole } from '../context.js';
import { isReadable } from '../definition/attributes.js';
import {
  member,
  type QueryContext,
  type ResourceDefinition,
  relatedDefinition,
} from '../definition/definition.js';
import { columnOf, columnsOf } from './column-values.js';
import type { Column, FilterNode } from './filter-node.js';
import { codesNode, parseFieldRule, parseLinkRule, parseValueRule } from './filter-rules.js';
import { invalidParameter } from './parameters.js';
import { SEARCH, searchNode } from './search.js';

const MAX_DEPTH = 5;
export const MAX_RULES = 50;
const COMBINATIONS = new Set(['and', 'or', 'not']);

/** Shared by all filters of one request, which count towards one limit. */
export interface FilterContext extends QueryContext {
  rules: number;
}

interface Place {
  context: FilterContext;
  definition: ResourceDefinition;
  parameter: string;
  depth: number;
  /** `filter[name]=a,b`, where a comma may separate values. */
  isShort?: boolean;
  /** Pointer to this rule, for a filter in a document; all of its faults are reported. */
  path?: string;
  faults?: string[];
}

type Json = Record<string, unknown>;

/** Validates one query parameter `filter`, `filter[]` or `filter[name]`. */
export function parseFilter(
  entry: { parameter: string; value: string },
  definition: ResourceDefinition,
  context: FilterContext,
): FilterNode[] {
  const { parameter, value } = entry;
  const place: Place = { context, definition, parameter, depth: 0 };
  const name = /^filter\[(.+)\]$/.exec(parameter)?.[1];
  if (name !== undefined) {
    const isContained = member(definition.attributes, name)?.hasSeveralValues === true;
    const op = isContained ? 'contains' : 'eq';
    return [parseLeaf({ name, op, val: value }, { ...place, isShort: true })];
  }
  const rules = parseJson(value, parameter);
  return parseRules(Array.isArray(rules) ? rules : [rules], place);
}

/** Maximum of faults in one error document. */
const MAX_FAULTS = 20;

/**
 * Validates a filter that is a value of a document, as parseFilter does. Returns every fault with its
 * place, which begins with `name`.
 */
export function parseStoredFilter(
  { name, rules }: { name: string; rules: unknown },
  definition: ResourceDefinition,
  context: QueryContext,
): { nodes: FilterNode[]; faults: string[] } {
  const faults: string[] = [];
  const counted = { ...context, rules: 0 };
  const place: Place = { context: counted, definition, parameter: name, depth: 0 };
  const all = Array.isArray(rules) ? rules : [rules];
  const nodes = parseRules(all, { ...place, path: name, faults });
  return { nodes, faults };
}

function parseRules(rules: unknown[], place: Place): FilterNode[] {
  const { faults, path } = place;
  if (faults === undefined) return rules.map((rule) => parseRule(rule, place));
  return rules.flatMap((rule, index) => {
    if (faults.length >= MAX_FAULTS) return [];
    const inner = { ...place, path: `${path}[${index}]` };
    try {
      return [parseRule(rule, inner)];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      faults.push(`${inner.path}: ${error.message}`);
      return [];
    }
  });
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

function at(place: Place, step: string): Place {
  return place.path === undefined ? place : { ...place, path: `${place.path}.${step}` };
}

function parseCombination(kind: 'and' | 'or' | 'not', value: unknown, place: Place): FilterNode {
  if (kind === 'not') return { kind, node: parseRule(value, at(place, kind)) };
  if (!Array.isArray(value) || value.length === 0) {
    throw invalidParameter(place.parameter, `"${kind}" takes an array of rules`);
  }
  return { kind, nodes: parseRules(value, at(place, kind)) };
}

function parseLeaf(rule: Json, place: Place): FilterNode {
  const { parameter, context } = place;
  context.rules += 1;
  if (context.rules > MAX_RULES) {
    throw invalidParameter(parameter, `a filter may have ${MAX_RULES} rules`);
  }
  const unknown = Object.keys(rule).find((key) => !['name', 'op', 'val', 'field'].includes(key));
  if (unknown !== undefined && COMBINATIONS.has(unknown)) {
    throw invalidParameter(parameter, '"and", "or" and "not" each stand alone in a rule');
  }
  if (unknown !== undefined) {
    const message = `a rule has no member "${unknown}"; it has name, op, and val or field`;
    throw invalidParameter(parameter, message);
  }
  const { name, op } = rule;
  if (typeof name !== 'string' || typeof op !== 'string') {
    throw invalidParameter(parameter, 'a rule needs "name" and "op", both strings');
  }
  const [first = '', ...further] = name.split('__');
  if (further.length > 0) return parseDotted({ ...rule, name: further.join('__') }, first, place);
  return parseEnd(rule, name, place);
}

function parseEnd(rule: Json, name: string, place: Place): FilterNode {
  const { definition, parameter, isShort = false } = place;
  const { search, codes = {} } = definition;
  const { op, val: value } = rule;
  if (name === SEARCH && search !== undefined) return searchNode(search, { value, op, parameter });
  const own = member(codes, name);
  if (own !== undefined) return codesNode(own, { name, op, value, parameter, isShort });
  if (member(definition.relationships, name)) return parseRelated(rule, name, place);
  return parseComparison(listed(rule, name, place), columnNamed(name, place), place);
}

/** No value of these kinds contains a comma. */
const COMMA_SEPARATED = new Set(['enum', 'integer', 'uuid']);

/** Converts `filter[status]=Queued,NotNow` to a rule with `in`. */
function listed(rule: Json, name: string, { definition, isShort }: Place): Json {
  const kind = name === 'id' ? 'integer' : member(definition.attributes, name)?.kind;
  return isShort && kind !== undefined && COMMA_SEPARATED.has(kind) ? asList(rule) : rule;
}

function asList(rule: Json): Json {
  const values = String(rule.val).split(',');
  return values.length > 1 ? { ...rule, op: 'in', val: values } : rule;
}

function columnNamed(name: string, place: Place): Column {
  const { definition, parameter } = place;
  if (name === 'id') return idColumn(definition);
  const column = filterColumn(name, place);
  if (column) return column;
  const columns = Object.keys(definition.attributes).filter((one) => filterColumn(one, place));
  const codes = Object.keys(definition.codes ?? {});
  const known = ['id', ...columns, ...codes, ...relatedNames(place)];
  const message = `${definition.type} can't be filtered by "${name}"; ${knownNames(name, known)}`;
  throw invalidParameter(parameter, message);
}

function filterColumn(name: string, { context, definition }: Place): Column | undefined {
  const attribute = member(definition.attributes, name);
  if (attribute === undefined || !isReadable(attribute, context.actor)) return undefined;
  const column = columnOf(name, attribute);
  const foundBy = foundByIndex(name, definition);
  return column && foundBy ? { ...column, foundBy } : column;
}

function foundByIndex(
  name: string,
  { search, flagIndex, valueIndex, risesWithId, hexOf = {}, table, attributes }: ResourceDefinition,
): Column['foundBy'] {
  const values = valueIndex?.includes(name) ? columnsOf(valueIndex, attributes) : undefined;
  if (search?.columns.includes(name)) {
    return { texts: search.columns, byStart: search.byStart?.includes(name) === true, values };
  }
  if (flagIndex && [...flagIndex.true, ...flagIndex.false].includes(name)) {
    return { flags: flagIndex };
  }
  if (values) return { values };
  if (risesWithId === name) return { risingIn: table };
  const bytes = member(hexOf, name);
  return bytes === undefined ? undefined : { bytes };
}

/** Relationships to what the client may read. */
function relatedNames({ context, definition }: Place): string[] {
  return Object.entries(definition.relationships).flatMap(([name, relation]) => {
    const { access } = relatedDefinition(context.registry, relation);
    return hasRole(context.actor, access.read) ? [name] : [];
  });
}

function idColumn({ namedBy }: ResourceDefinition): Column {
  return namedBy === undefined
    ? { name: 'id', kind: 'integer', ignoreCase: false }
    : { name: namedBy, label: 'id', kind: 'text', ignoreCase: false };
}

function parseComparison(rule: Json, column: Column, place: Place): FilterNode {
  const { parameter } = place;
  const op = String(rule.op);
  if ('val' in rule === 'field' in rule) {
    throw invalidParameter(parameter, 'a rule needs either "val" or "field"');
  }
  if (!('field' in rule)) {
    const values = place.definition.attributes[column.name]?.values;
    return parseValueRule({ column, op, value: rule.val, parameter, values });
  }
  if (typeof rule.field !== 'string') throw invalidParameter(parameter, '"field" must be a name');
  return parseFieldRule({ column, op, other: columnNamed(rule.field, place), parameter });
}

/** The relationship, and the same place at the resource it leads to. */
function across(name: string, place: Place) {
  const { definition, parameter, context } = place;
  const relation = member(definition.relationships, name);
  if (!relation) {
    const known = knownNames(name, relatedNames(place));
    const message = `${definition.type} has no relationship "${name}"; ${known}`;
    throw invalidParameter(parameter, message);
  }
  const shape = relatedDefinition(context.registry, relation);
  if (!hasRole(context.actor, shape.access.read)) {
    throw invalidParameter(parameter, `your role can't filter by "${name}"`);
  }
  return { relation, shape, inside: { ...deeper(place), definition: shape } };
}

// {"name":"device__tags__name","op":"eq","val":…}; the operators any and has are aliases of eq here.
function parseDotted(rule: Json, name: string, place: Place): FilterNode {
  const { relation, shape, inside } = across(name, place);
  const [first = '', ...further] = String(rule.name).split('__');
  const node =
    further.length > 0
      ? parseDotted({ ...rule, name: further.join('__') }, first, inside)
      : parseEnd(equality(rule, first, inside), first, inside);
  return { kind: 'related', relation, shape, node };
}

function equality(rule: Json, name: string, { definition }: Place): Json {
  const isAttribute = !member(definition.relationships, name);
  return isAttribute && (rule.op === 'any' || rule.op === 'has') ? { ...rule, op: 'eq' } : rule;
}

function parseRelated(rule: Json, name: string, place: Place): FilterNode {
  const { relation, shape, inside } = across(name, place);
  if (relation.kind === 'toOne') {
    if (rule.op !== 'has') return parseLink(rule, { name: relation.column, label: name }, place);
  } else if (place.isShort) {
    const node = parseLink(rule, { name: 'id', label: name }, inside);
    return { kind: 'related', relation, shape, node };
  } else if (rule.op !== 'any') {
    throw invalidParameter(place.parameter, `"${name}" takes the operator "any"`);
  }
  return { kind: 'related', relation, shape, node: parseRule(rule.val, at(inside, 'val')) };
}

/** A relationship by the id of the related resource, as in `filter[device]=1`. */
function parseLink(rule: Json, names: { name: string; label: string }, place: Place): FilterNode {
  const { parameter, isShort } = place;
  if (!('val' in rule) || 'field' in rule) {
    throw invalidParameter(parameter, `"${names.label}" is compared with an id in "val"`);
  }
  const { op, val } = isShort ? asList(rule) : rule;
  const column: Column = { ...names, kind: 'integer', ignoreCase: false };
  return parseLinkRule({ column, op: String(op), value: val, parameter });
}
