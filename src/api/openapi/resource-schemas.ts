import {
  member,
  type Registry,
  type Relationship,
  type ResourceDefinition,
} from '../../jsonapi/definition.js';
import { MAX_IDENTIFIERS } from '../../jsonapi/identifiers.js';
import type { Schema } from '../api-route.js';
import { shownSchema, writtenSchema } from './attribute-schema.js';
import { words } from './operation-names.js';

export type Schemas = Record<string, Schema>;
type Mode = 'create' | 'update';

export function refTo(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

const ID: Schema = { $ref: '#/components/schemas/id' };

/** The name of a create's body where the path gives the relationship or attribute `fixed`. */
export function createSchemaName(type: string, fixed?: string): string {
  return fixed === undefined ? `${type}_create` : `${type}_create_without_${fixed}`;
}

/** Everything that is said about one type, by the names of `components.schemas`. */
export function resourceSchemas(definition: ResourceDefinition): Schemas {
  const { type } = definition;
  return {
    [`${type}_identifier`]: identifierSchema(type, ID),
    [`${type}_reference`]: identifierSchema(type, refTo('given_id')),
    [`${type}_attributes`]: attributesSchema(definition),
    [`${type}_resource`]: resourceSchema(definition),
    [`${type}_document`]: documentSchema(definition),
    [`${type}_list`]: listSchema(type),
  };
}

/** The bodies that create and update resources of this type. */
export function bodySchemas(definition: ResourceDefinition, fixed: string[]): Schemas {
  const { type, access } = definition;
  const schemas: Schemas = {};
  if (access.create !== null) {
    schemas[createSchemaName(type)] = createSchema(definition);
    for (const name of fixed) {
      schemas[createSchemaName(type, name)] = createSchema(definition, name);
    }
  }
  if (access.update !== null) schemas[`${type}_update`] = bodySchema(definition, 'update');
  return schemas;
}

/** The bodies of a type of which there is one resource only: a document, or its attributes alone. */
export function singletonSchemas(definition: ResourceDefinition): Schemas {
  const { type } = definition;
  const { [`${type}_attributes`]: attributes = {}, ...shown } = resourceSchemas(definition);
  const written = writtenAttributes(definition, 'update');
  const data = {
    type: 'object',
    properties: { type: typeSchema(type), id: refTo('given_id'), attributes: written },
    required: ['attributes'],
  };
  const document = { type: 'object', properties: { data }, required: ['data'] };
  return {
    [`${type}_attributes`]: attributes,
    [`${type}_resource`]: shown[`${type}_resource`] ?? {},
    [`${type}_document`]: shown[`${type}_document`] ?? {},
    [`${type}_write`]: { anyOf: [document, written] },
  };
}

function typeSchema(type: string): Schema {
  return { type: 'string', enum: [type] };
}

function identifierSchema(type: string, id: Schema): Schema {
  return {
    type: 'object',
    properties: { type: typeSchema(type), id },
    required: ['type', 'id'],
    additionalProperties: false,
  };
}

function attributesSchema({ type, attributes }: ResourceDefinition): Schema {
  const shown = Object.entries(attributes).filter(([, { writeOnly }]) => !writeOnly);
  return {
    type: 'object',
    description: `Of ${words(type)}. \`fields[${type}]\` selects.${heavyNote(attributes)}`,
    properties: Object.fromEntries(shown.map(([name, value]) => [name, shownSchema(value)])),
    additionalProperties: false,
  };
}

function heavyNote(attributes: ResourceDefinition['attributes']): string {
  const heavy = Object.keys(attributes).filter((name) => attributes[name]?.heavy);
  if (heavy.length === 0) return '';
  const names = heavy.map((name) => `\`${name}\``).join(', ');
  return ` Lists leave out ${names} unless they are selected.`;
}

function resourceSchema({ type, relationships }: ResourceDefinition): Schema {
  const links = Object.entries(relationships).map(([name, relation]) => [
    name,
    shownRelationship(relation),
  ]);
  const properties = {
    type: typeSchema(type),
    id: ID,
    attributes: refTo(`${type}_attributes`),
    relationships: {
      type: 'object',
      properties: Object.fromEntries(links),
      additionalProperties: false,
    },
    links: refTo('resource_links'),
  };
  const required = ['type', 'id', 'attributes', 'links'];
  return { type: 'object', properties, required, additionalProperties: false };
}

function shownRelationship(relation: Relationship): Schema {
  const identifier = refTo(`${relation.type}_identifier`);
  const isOne = relation.kind === 'toOne';
  const data = isOne
    ? { anyOf: [identifier, { type: 'null' }] }
    : { type: 'array', items: identifier, description: 'Only where it is included.' };
  return {
    type: 'object',
    properties: { links: refTo('relationship_links'), data },
    required: isOne ? ['links', 'data'] : ['links'],
    additionalProperties: false,
  };
}

function documentSchema({ type, alwaysArray }: ResourceDefinition): Schema {
  const resource = refTo(`${type}_resource`);
  const array = { type: 'array', items: resource, minItems: 1, maxItems: 1 };
  return {
    type: 'object',
    properties: {
      data: alwaysArray ? array : resource,
      included: refTo('included'),
      links: refTo('resource_links'),
      meta: alwaysArray ? refTo('count_meta') : refTo('meta'),
      jsonapi: refTo('jsonapi'),
    },
    required: ['data', 'links', 'jsonapi', ...(alwaysArray ? ['meta'] : [])],
    additionalProperties: false,
  };
}

function listSchema(type: string): Schema {
  return {
    type: 'object',
    properties: {
      data: { type: 'array', items: refTo(`${type}_resource`) },
      included: refTo('included'),
      links: refTo('page_links'),
      meta: refTo('count_meta'),
      jsonapi: refTo('jsonapi'),
    },
    required: ['data', 'links', 'meta', 'jsonapi'],
    additionalProperties: false,
  };
}

// Other forms than the document are the business of the definition's own reader.
function createSchema(definition: ResourceDefinition, fixed?: string): Schema {
  const document = bodySchema(definition, 'create', fixed);
  if (definition.adaptCreate === undefined) return document;
  const other = { type: 'object', description: 'What its issuer gives out, as it is.' };
  return { anyOf: [document, other] };
}

function bodySchema(definition: ResourceDefinition, mode: Mode, fixed?: string): Schema {
  const { type } = definition;
  const attributes = writtenAttributes(definition, mode, fixed);
  const relationships = writtenRelationships(definition, mode, fixed);
  const properties = {
    type: typeSchema(type),
    ...(mode === 'update' ? { id: refTo('given_id') } : {}),
    attributes,
    ...(relationships ? { relationships } : {}),
  };
  const needed = { attributes, relationships: relationships ?? {} };
  const required = Object.entries(needed).filter(([, schema]) => 'required' in schema);
  const data = {
    type: 'object',
    properties,
    required: ['type', ...required.map(([name]) => name)],
  };
  return { type: 'object', properties: { data }, required: ['data'] };
}

/** Read-only attributes are ignored, so that clients may send back what they read. */
function writtenAttributes(definition: ResourceDefinition, mode: Mode, fixed?: string): Schema {
  const { attributes, defaults = {} } = definition;
  const entries = Object.entries(attributes).map(([name, attribute]) => {
    const { write } = attribute;
    if (write !== 'always' && write !== mode) return [name, { readOnly: true }] as const;
    const preset = mode === 'create' ? member(defaults, name) : undefined;
    return [name, writtenSchema(attribute, preset)] as const;
  });
  const required = Object.keys(attributes).filter(
    (name) => mode === 'create' && attributes[name]?.required && name !== fixed,
  );
  return {
    type: 'object',
    properties: Object.fromEntries(entries),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

function writtenRelationships(
  { relationships }: ResourceDefinition,
  mode: Mode,
  fixed?: string,
): Schema | undefined {
  const entries = Object.entries(relationships).filter(([, relation]) => isTaken(relation, mode));
  if (entries.length === 0) return undefined;
  const required = entries.filter(
    ([name, relation]) =>
      mode === 'create' && relation.kind === 'toOne' && relation.required && name !== fixed,
  );
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, to]) => [name, { ...linkageBody(to) }])),
    ...(required.length > 0 ? { required: required.map(([name]) => name) } : {}),
  };
}

function isTaken(relation: Relationship, mode: Mode): boolean {
  if (relation.kind === 'toMany') return relation.write === 'document';
  return relation.write === 'always' || relation.write === mode;
}

/** The `data` that names what a relationship is to point to. */
export function linkageBody(relation: Relationship): Schema {
  const reference = refTo(`${relation.type}_reference`);
  const orNone = { anyOf: [reference, { type: 'null' }] };
  const one = relation.kind === 'toOne' && relation.required ? reference : orNone;
  const many = { type: 'array', items: reference, maxItems: MAX_IDENTIFIERS };
  const data = relation.kind === 'toOne' ? one : many;
  return { type: 'object', properties: { data }, required: ['data'] };
}

/** The documents of relationships by their own paths, for every type that one points to. */
export function linkageSchemas(registry: Registry): Schemas {
  const relations = [...registry.values()].flatMap(({ relationships }) =>
    Object.values(relationships),
  );
  return Object.fromEntries(
    relations.map((relation) => [linkageName(relation), linkageDocument(relation)]),
  );
}

/** The name of the document of a relationship by its own path. */
export function linkageName({ kind, type }: Relationship): string {
  return kind === 'toOne' ? `${type}_to_one` : `${type}_to_many`;
}

function linkageDocument({ kind, type }: Relationship): Schema {
  const identifier = refTo(`${type}_identifier`);
  const one = { anyOf: [identifier, { type: 'null' }] };
  const isOne = kind === 'toOne';
  return {
    type: 'object',
    properties: {
      data: isOne ? one : { type: 'array', items: identifier },
      links: refTo('linkage_links'),
      meta: refTo('count_meta'),
      jsonapi: refTo('jsonapi'),
    },
    required: ['data', 'links', 'jsonapi'],
    additionalProperties: false,
  };
}
