import type { Attribute } from '../../../jsonapi/definition/attributes.js';
import type { Relationship, ResourceDefinition } from '../../../jsonapi/definition/definition.js';
import type { Schema } from '../../api-route.js';
import { words } from '../operations/operation-names.js';
import { described } from '../texts/attribute-texts.js';
import { shownSchema } from './attribute-schema.js';

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

/** The same of a catalogue, whose ids are names and whose resources have no relationships. */
export function catalogueSchemas(definition: ResourceDefinition): Schemas {
  const { type } = definition;
  const properties = {
    type: typeSchema(type),
    id: { type: 'string' },
    attributes: refTo(`${type}_attributes`),
    links: refTo('resource_links'),
  };
  const required = Object.keys(properties);
  const resource = { type: 'object', properties, required, additionalProperties: false };
  return { ...resourceSchemas(definition), [`${type}_resource`]: resource };
}

export function typeSchema(type: string): Schema {
  return { const: type };
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
  const namesOf = (isMeant: (attribute: Attribute) => boolean | undefined) =>
    Object.entries(attributes).flatMap(([name, one]) => (isMeant(one) ? [`\`${name}\``] : []));
  const heavy = namesOf((one) => one.heavy);
  const asked = namesOf((one) => one.onRequest);
  const ofLists = ` Lists leave out ${heavy.join(', ')} unless they are selected.`;
  const ofAll = ` ${asked.join(', ')} must be selected.`;
  return (heavy.length > 0 ? ofLists : '') + (asked.length > 0 ? ofAll : '');
}

/** A schema of `components` where some members are known better. */
export function narrowed(name: string, properties: Schemas, required: string[] = []): Schema {
  const needed = required.length > 0 ? { required } : {};
  return { allOf: [refTo(name)], properties, ...needed };
}

function resourceSchema(definition: ResourceDefinition): Schema {
  const { type, relationships, unions = {} } = definition;
  const shownUnions = Object.keys(unions).map((name) => [name, refTo(unionName(definition, name))]);
  const links = Object.entries(relationships).map(([name, relation]) => [
    name,
    refTo(shownName(relation)),
  ]);
  const properties = Object.fromEntries([...links, ...shownUnions]);
  return narrowed('resource', {
    type: typeSchema(type),
    attributes: refTo(`${type}_attributes`),
    relationships: { type: 'object', properties, additionalProperties: false },
  });
}

/** The name of a union as resources show it. */
export function unionName({ type }: ResourceDefinition, name: string): string {
  return `${type}_${name}`;
}

/** The name of a relationship as resources show it. */
export function shownName({ kind, type }: Relationship): string {
  return kind === 'toOne' ? `${type}_one` : `${type}_many`;
}

export function shownRelationship(relation: Relationship): Schema {
  const identifier = refTo(`${relation.type}_identifier`);
  return relation.kind === 'toOne'
    ? narrowed('relationship', { data: { oneOf: [identifier, { type: 'null' }] } }, ['data'])
    : narrowed('relationship', { data: { type: 'array', items: identifier } });
}

function documentSchema({ type, alwaysArray }: ResourceDefinition): Schema {
  const resource = refTo(`${type}_resource`);
  if (!alwaysArray) return narrowed('document', { data: resource });
  const data = { type: 'array', items: resource, minItems: 1, maxItems: 1 };
  return narrowed('document', { data, meta: refTo('count_meta') }, ['meta']);
}

function listSchema(type: string): Schema {
  return narrowed('list', { data: { type: 'array', items: refTo(`${type}_resource`) } });
}
