import {
  member,
  type Relationship,
  type ResourceDefinition,
} from '../../../jsonapi/definition/definition.js';
import { unionParts } from '../../../jsonapi/definition/unions.js';
import type { WriteMode } from '../../../jsonapi/requests/input.js';
import type { Schema } from '../../api-route.js';
import { described } from '../texts/attribute-texts.js';
import { writtenSchema } from './attribute-schema.js';
import { linkageBody, unionBody } from './linkage-schemas.js';
import { refTo, resourceSchemas, type Schemas, typeSchema } from './resource-schemas.js';

/** The name of a create's body where the path fixes the relationship or attribute `fixed`. */
export function createSchemaName(type: string, fixed?: string): string {
  return fixed === undefined ? `${type}_create` : `${type}_create_without_${fixed}`;
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
  const isWritten = Object.keys(schemas).length > 0;
  return isWritten ? { [writtenName(type)]: writtenAttributes(definition), ...schemas } : {};
}

/** The bodies of a type of which there is one resource only: a document, or its attributes alone. */
export function singletonSchemas(definition: ResourceDefinition): Schemas {
  const { type } = definition;
  const { [`${type}_attributes`]: attributes = {}, ...shown } = resourceSchemas(definition);
  const flat = `${type}_write_attributes`;
  const whole = `${type}_write_document`;
  const data = {
    type: 'object',
    properties: { type: typeSchema(type), id: refTo('given_id'), attributes: refTo(flat) },
    required: ['attributes'],
  };
  return {
    [flat]: writtenAttributes(definition),
    [whole]: { type: 'object', properties: { data }, required: ['data'] },
    [`${type}_attributes`]: attributes,
    [`${type}_resource`]: shown[`${type}_resource`] ?? {},
    [`${type}_document`]: shown[`${type}_document`] ?? {},
    [`${type}_write`]: { anyOf: [refTo(whole), refTo(flat)] },
  };
}

/** The name of the attributes that creates and updates of this type accept. */
function writtenName(type: string): string {
  return `${type}_written`;
}

// Other forms than the document are the business of the definition's own reader.
function createSchema(definition: ResourceDefinition, fixed?: string): Schema {
  const document = bodySchema(definition, 'create', fixed);
  if (definition.adaptCreate === undefined) return document;
  const other = { type: 'object', description: 'The file of its issuer, unchanged.' };
  return { anyOf: [document, other] };
}

function bodySchema(definition: ResourceDefinition, mode: WriteMode, fixed?: string): Schema {
  const { type } = definition;
  const needed = mode === 'create' ? requiredAttributes(definition, fixed) : [];
  const written = refTo(writtenName(type));
  const needs = [
    ...(needed.length > 0 ? [{ type: 'object', required: needed }] : []),
    ...(mode === 'create' ? oneOfNeeded(definition) : []),
  ];
  const attributes = needs.length > 0 ? { allOf: [written, ...needs] } : written;
  const relationships = writtenRelationships(definition, mode, fixed);
  const properties = {
    type: typeSchema(type),
    id: mode === 'update' ? refTo('given_id') : undefined,
    attributes,
    relationships,
  };
  const required = [
    'type',
    ...(needs.length > 0 ? ['attributes'] : []),
    ...(relationships?.required === undefined ? [] : ['relationships']),
  ];
  const data = { type: 'object', properties, required };
  return { type: 'object', properties: { data }, required: ['data'] };
}

function requiredAttributes({ attributes }: ResourceDefinition, fixed?: string): string[] {
  return Object.keys(attributes).filter((name) => attributes[name]?.required && name !== fixed);
}

function oneOfNeeded({ requiresOneOf = [] }: ResourceDefinition): Schema[] {
  if (requiresOneOf.length === 0) return [];
  const value = { type: 'string', minLength: 1 };
  const anyOf = requiresOneOf.map((name) => ({ properties: { [name]: value }, required: [name] }));
  return [{ anyOf }];
}

/**
 * The same attributes for creates and updates. A mode ignores attributes that it does not accept, so that
 * clients may send back what they read. Only write-only attributes are described here again.
 */
function writtenAttributes({ type, attributes, defaults = {} }: ResourceDefinition): Schema {
  const entries = Object.entries(attributes).map(([name, attribute]) => {
    if (attribute.write === 'never') return [name, { readOnly: true }] as const;
    const schema = writtenSchema(attribute, member(defaults, name));
    return [name, attribute.writeOnly ? described(schema, type, name) : schema] as const;
  });
  const properties = Object.fromEntries(entries);
  return { type: 'object', properties, additionalProperties: false };
}

function writtenRelationships(
  definition: ResourceDefinition,
  mode: WriteMode,
  fixed?: string,
): Schema | undefined {
  const { relationships } = definition;
  const entries = Object.entries(relationships).filter(([, relation]) =>
    isAccepted(relation, mode),
  );
  const unions = Object.keys(definition.unions ?? {}).filter((name) =>
    unionParts(definition, name)?.some(([, relation]) => isAccepted(relation, mode)),
  );
  if (entries.length === 0) return undefined;
  const required = entries.filter(
    ([name, relation]) =>
      mode === 'create' && relation.kind === 'toOne' && relation.required && name !== fixed,
  );
  return {
    type: 'object',
    properties: Object.fromEntries([
      ...entries.map(([name, to]) => [name, { ...linkageBody(to) }]),
      ...unions.map((name) => [name, unionBody(definition, name)]),
    ]),
    required: required.length > 0 ? required.map(([name]) => name) : undefined,
    additionalProperties: false,
  };
}

function isAccepted(relation: Relationship, mode: WriteMode): boolean {
  if (relation.kind === 'toMany') return relation.write === 'document';
  return relation.write === 'always' || relation.write === mode;
}
