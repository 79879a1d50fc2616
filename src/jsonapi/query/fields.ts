import { knownNames } from '../../errors.js';
import { type Actor, hasRole } from '../context.js';
import { isReadable } from '../definition/attributes.js';
import {
  member,
  type QueryContext,
  type ResourceDefinition,
  relatedDefinition,
} from '../definition/definition.js';
import { unionParts } from '../definition/unions.js';
import type { SortField } from '../store.js';
import { invalidParameter } from './parameters.js';

const MAX_NAMES = 200;
export const MAX_SORT_FIELDS = 10;
export const MAX_INCLUDE_DEPTH = 3;
/** Each step of a path takes a statement. */
export const MAX_INCLUDE_STEPS = 40;

function names(parameter: string, value: string): string[] {
  const list = value === '' ? [] : value.split(',');
  if (list.length > MAX_NAMES) {
    throw invalidParameter(parameter, `${parameter} takes at most ${MAX_NAMES} names`);
  }
  return [...new Set(list)];
}

/**
 * `sort=a,-b,c.d`, where c is a to-one relationship and d an attribute of its type. The id is the implicit
 * last field; repeated names are ignored.
 */
export function parseSort(
  value: string,
  definition: ResourceDefinition,
  context: QueryContext,
): SortField[] {
  const fields = new Map<string, SortField>();
  for (const given of names('sort', value)) {
    const descending = given.startsWith('-');
    const name = descending ? given.slice(1) : given;
    if (fields.has(name)) continue;
    fields.set(name, { ...sortField(name, definition, context), descending });
  }
  if (fields.size <= MAX_SORT_FIELDS) return [...fields.values()];
  throw invalidParameter('sort', `sort takes at most ${MAX_SORT_FIELDS} names`);
}

type OrderedBy = Omit<SortField, 'descending'>;

function sortField(name: string, definition: ResourceDefinition, context: QueryContext): OrderedBy {
  const { actor } = context;
  const [relationship = '', ...column] = name.split('.');
  const related = relatedToOne(definition, relationship, context);
  if (related !== undefined && column.length > 0) return relatedField(column.join('.'), related);
  if (isSortable(definition, name, actor)) return { column: name };
  const relations = Object.keys(definition.relationships).filter(
    (other) => relatedToOne(definition, other, context) !== undefined,
  );
  const paths = relations.map((other) => `${other}.ATTRIBUTE`);
  const known = knownNames(name, [...sortableNames(definition, actor), ...paths]);
  throw invalidParameter('sort', `${definition.type} can't be sorted by "${name}"; ${known}`);
}

interface RelatedToOne {
  relationship: string;
  foreignKey: string;
  shape: ResourceDefinition;
  actor: Actor;
}

/** What a to-one relationship points to; undefined for any other name, and if the actor may not read it. */
function relatedToOne(
  { relationships }: ResourceDefinition,
  relationship: string,
  { registry, actor }: QueryContext,
): RelatedToOne | undefined {
  const relation = member(relationships, relationship);
  if (relation?.kind !== 'toOne') return undefined;
  const shape = relatedDefinition(registry, relation);
  if (!hasRole(actor, shape.access.read)) return undefined;
  return { relationship, foreignKey: relation.column, shape, actor };
}

function relatedField(column: string, { actor, ...related }: RelatedToOne): OrderedBy {
  const sortable = sortableNames(related.shape, actor).filter((name) => name !== 'id');
  if (sortable.includes(column)) return { column, related };
  const path = `${related.relationship}.${column}`;
  const message = `${related.shape.type} can't be sorted by "${column}"`;
  throw invalidParameter('sort', `"${path}": ${message}; ${knownNames(column, sortable)}`);
}

function isSortable({ attributes }: ResourceDefinition, name: string, actor: Actor): boolean {
  const attribute = member(attributes, name);
  return name === 'id' || (attribute?.sortable === true && isReadable(attribute, actor));
}

function sortableNames(definition: ResourceDefinition, actor: Actor): string[] {
  const names = ['id', ...Object.keys(definition.attributes)];
  return names.filter((name) => isSortable(definition, name, actor));
}

/** `include=a,b.c`: paths of relationships from the primary resource, three steps at most. */
export function parseInclude(
  value: string,
  definition: ResourceDefinition,
  context: QueryContext,
): string[] {
  const paths = names('include', value);
  const steps = new Set<string>();
  for (const path of paths) {
    const relations = path.split('.');
    if (relations.length > MAX_INCLUDE_DEPTH) {
      throw invalidParameter('include', `"${path}": at most ${MAX_INCLUDE_DEPTH} levels`);
    }
    checkPath(path, { definition, context });
    for (const index of relations.keys()) steps.add(relations.slice(0, index + 1).join('.'));
  }
  if (steps.size <= MAX_INCLUDE_STEPS) return paths;
  throw invalidParameter('include', `include takes at most ${MAX_INCLUDE_STEPS} relationships`);
}

function checkPath(
  path: string,
  { definition, context }: { definition: ResourceDefinition; context: QueryContext },
): void {
  const { registry, actor } = context;
  let from = definition;
  for (const [index, name] of path.split('.').entries()) {
    const parts = unionParts(from, name);
    if (parts !== undefined && path.split('.').length === index + 1) return;
    const relation = member(from.relationships, name);
    if (!relation) {
      const known = knownNames(name, includableNames(from, context));
      const message = `"${path}": ${from.type} has no relationship "${name}"; ${known}`;
      throw invalidParameter('include', message);
    }
    from = relatedDefinition(registry, relation);
    if (!hasRole(actor, from.access.read)) {
      throw invalidParameter('include', `your role can't include "${path}"`);
    }
  }
}

function includableNames(
  { relationships, unions = {} }: ResourceDefinition,
  context: QueryContext,
): string[] {
  const { registry, actor } = context;
  const names = Object.entries(relationships).flatMap(([name, relation]) =>
    hasRole(actor, relatedDefinition(registry, relation).access.read) ? [name] : [],
  );
  return [...names, ...Object.keys(unions)];
}

/** `fields[type]=a,b`: attributes and relationships of one type. */
export function parseFields(
  parameter: string,
  value: string,
  { registry }: QueryContext,
): [type: string, fields: Set<string>] {
  const type = /^fields\[(.+)\]$/.exec(parameter)?.[1] ?? '';
  const definition = registry.get(type);
  if (!definition) {
    const known = knownNames(type, [...registry.keys()]);
    throw invalidParameter(parameter, `there is no type "${type}"; ${known}`);
  }
  const fields = names(parameter, value);
  const unknown = fields.find((name) => !isVisible(definition, name));
  if (unknown === undefined) return [type, new Set(fields)];
  const { attributes, relationships, unions = {} } = definition;
  const all = [attributes, relationships, unions].flatMap((fields) => Object.keys(fields));
  const known = all.filter((name) => isVisible(definition, name));
  const message = `${type} has no field "${unknown}"; ${knownNames(unknown, known)}`;
  throw invalidParameter(parameter, message);
}

function isVisible(
  { attributes, relationships, unions = {} }: ResourceDefinition,
  name: string,
): boolean {
  const attribute = member(attributes, name);
  if (attribute) return attribute.writeOnly !== true;
  return Object.hasOwn(relationships, name) || Object.hasOwn(unions, name);
}
