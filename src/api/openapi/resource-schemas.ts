import type { Attribute } from '../../jsonapi/attributes.js';
import type { Relationship, ResourceDefinition } from '../../jsonapi/definition.js';
import type { Schema } from '../api-route.js';
import { shownSchema } from './attribute-schema.js';
import { described } from './attribute-texts.js';
import { words } from './operation-names.js';

export type Schemas = Record<string, Schema>;

export function refTo(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

export const ID: Schema = { $ref: '#/components/schemas/id' };

/** Everything that is said about one type, by the names of `components.schemas`. */
export function resourceSchemas(definition: ResourceDefinition): Schemas {
  const { type } = definition;
  return {
    [`${type}_attributes`]: attributesSchema(definition),
    [`${type}_resource`]: resourceSchema(definition),
    [`${type}_document`]: documentSchema(definition),
    [`${type}_list`]: listSchema(type),
  };
}

export function typeSchema(type: string): Schema {
  return { type: 'string', enum: [type] };
}

function attributesSchema({ type, attributes }: ResourceDefinition): Schema {
  const shown = Object.entries(attributes).filter(([, { writeOnly }]) => !writeOnly);
  const schemaOf = (name: string, value: Attribute) => described(shownSchema(value), type, name);
  return {
    type: 'object',
    description: `Of ${words(type)}. \`fields[${type}]\` selects.${heavyNote(attributes)}`,
    properties: Object.fromEntries(shown.map(([name, value]) => [name, schemaOf(name, value)])),
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
    ? { oneOf: [identifier, { type: 'null' }] }
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
