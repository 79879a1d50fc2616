import { hasRole } from '../context.js';
import { member, type ResourceDefinition, relatedDefinition } from '../definition.js';
import type { SortField } from '../store.js';
import type { QueryContext } from './context.js';
import { invalidParameter } from './invalid-parameter.js';

const MAX_NAMES = 200;

function names(parameter: string, value: string): string[] {
  const list = value === '' ? [] : value.split(',');
  if (list.length > MAX_NAMES) {
    throw invalidParameter(parameter, `${parameter} takes at most ${MAX_NAMES} names`);
  }
  return [...new Set(list)];
}

/** `sort=a,-b`. The id comes last by itself. */
export function parseSort(value: string, definition: ResourceDefinition): SortField[] {
  return names('sort', value).map((name) => {
    const descending = name.startsWith('-');
    const column = descending ? name.slice(1) : name;
    if (column === 'id' || member(definition.attributes, column)?.sortable) {
      return { column, descending };
    }
    throw invalidParameter('sort', `${definition.type} can't be sorted by "${column}"`);
  });
}

/** `include=a,b`: names of relationships of the primary resource. */
export function parseInclude(
  value: string,
  definition: ResourceDefinition,
  { registry, actor }: QueryContext,
): string[] {
  return names('include', value).map((name) => {
    const relation = member(definition.relationships, name);
    if (!relation) {
      const reason = name.includes('.') ? 'only one level can be included' : 'no such relationship';
      throw invalidParameter('include', `"${name}": ${reason}`);
    }
    if (hasRole(actor, relatedDefinition(registry, relation).access.read)) return name;
    throw invalidParameter('include', `your role can't include "${name}"`);
  });
}

/** `fields[type]=a,b`: attributes and relationships of one type. */
export function parseFields(
  parameter: string,
  value: string,
  { registry }: QueryContext,
): [type: string, fields: Set<string>] {
  const type = /^fields\[(.+)\]$/.exec(parameter)?.[1] ?? '';
  const definition = registry.get(type);
  if (!definition) throw invalidParameter(parameter, `there is no type "${type}"`);
  const fields = names(parameter, value);
  const unknown = fields.find((name) => !isVisible(definition, name));
  if (unknown === undefined) return [type, new Set(fields)];
  throw invalidParameter(parameter, `${type} has no field "${unknown}"`);
}

function isVisible({ attributes, relationships }: ResourceDefinition, name: string): boolean {
  const attribute = member(attributes, name);
  return attribute ? attribute.writeOnly !== true : Object.hasOwn(relationships, name);
}
