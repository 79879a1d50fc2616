import { type Actor, hasRole } from '../context.js';
import { type Attribute, isReadable } from '../definition/attributes.js';
import {
  type QueryContext,
  type Relationship,
  type ResourceDefinition,
  relatedDefinition,
} from '../definition/definition.js';
import { type UnionPart, unionParts } from '../definition/unions.js';
import type { Row } from '../store.js';

/** Which fields of a type a document shows, and the columns they need. */
export interface Projection {
  definition: ResourceDefinition;
  attributes: [name: string, attribute: Attribute][];
  relationships: [name: string, relation: Relationship][];
  unions: [name: string, parts: UnionPart[]][];
  columns: string[];
  /** The actor that reads the document. */
  actor: Actor;
}

export interface ProjectionOptions {
  /** The sparse fieldset of this type, if the client gave one. */
  fields?: Set<string> | undefined;
  /** Relationships whose linkage the document must have. */
  include?: string[];
  /** A document of one resource: it shows heavy attributes by default. */
  detail: boolean;
  /** An actor that may not read a type does not see relationships to it. */
  reader: QueryContext;
}

type Shown = Omit<Projection, 'actor'>;

/** What a document shows by default: by type, role and detail. */
const defaults = new WeakMap<QueryContext['registry'], Map<string, Shown>>();

/** The fields of a type that the reader's document shows. */
export function project(definition: ResourceDefinition, options: ProjectionOptions): Projection {
  const { fields, detail, reader } = options;
  const { actor, registry } = reader;
  if (fields !== undefined) return { ...select(definition, options), actor };
  const known = defaults.get(registry) ?? new Map<string, Shown>();
  defaults.set(registry, known);
  const key = `${definition.type} ${actor.role} ${detail}`;
  const found = known.get(key);
  if (found?.definition === definition) return { ...found, actor };
  const shown = select(definition, options);
  known.set(key, shown);
  return { ...shown, actor };
}

function select(definition: ResourceDefinition, options: ProjectionOptions): Shown {
  const { fields, include = [], detail, reader } = options;
  const attributes = Object.entries(definition.attributes).filter(([name, attribute]) => {
    if (!isReadable(attribute, reader.actor)) return false;
    if (fields) return fields.has(name);
    return !attribute.onRequest && (detail || !attribute.heavy);
  });
  // JSON:API 1.1, "Compound Documents": an included resource keeps its linkage.
  const relationships = Object.entries(definition.relationships).filter(([name]) => {
    if (!isReadableLink(definition, name, reader)) return false;
    return !fields || fields.has(name) || include.includes(name);
  });
  const unions = Object.keys(definition.unions ?? {}).flatMap((name): Shown['unions'] => {
    if (fields && !fields.has(name) && !include.includes(name)) return [];
    const parts = unionParts(definition, name) ?? [];
    return [[name, parts.filter(([part]) => isReadableLink(definition, part, reader))]];
  });
  const parts = unions.flatMap(([, known]) => known);
  const columns = columnsOf(attributes, [...relationships, ...parts]);
  return { definition, attributes, relationships, unions, columns };
}

function isReadableLink(
  { relationships }: ResourceDefinition,
  name: string,
  { registry, actor }: QueryContext,
): boolean {
  const relation = relationships[name];
  return (
    relation !== undefined && hasRole(actor, relatedDefinition(registry, relation).access.read)
  );
}

/** Lets the definition prepare the rows of a document before they are serialized. */
export async function prepareRows(
  { definition, actor }: Pick<Projection, 'definition' | 'actor'>,
  rows: Row[],
  services: unknown,
): Promise<void> {
  await definition.prepare?.(rows, { services, actor });
}

function columnsOf(
  attributes: Projection['attributes'],
  relationships: Projection['relationships'],
): string[] {
  const columns = attributes.flatMap(([name, attribute]) => attribute.derivedFrom ?? [name]);
  for (const [, relation] of relationships) {
    if (relation.kind === 'toOne') columns.push(relation.column);
  }
  return [...new Set(columns)];
}
