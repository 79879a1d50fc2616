import type {
  Registry,
  Relationship,
  ResourceDefinition,
} from '../../../jsonapi/definition/definition.js';
import { MAX_IDENTIFIERS } from '../../../jsonapi/definition/identifiers.js';
import { unionParts } from '../../../jsonapi/definition/unions.js';
import type { Schema } from '../../api-route.js';
import {
  ID,
  narrowed,
  refTo,
  type Schemas,
  shownName,
  shownRelationship,
  typeSchema,
  unionName,
} from './resource-schemas.js';

/** Identifiers of every type that a relationship points to, and documents of relationships. */
export function linkageSchemas(registry: Registry): Schemas {
  const relations = [...registry.values()].flatMap(({ relationships }) =>
    Object.values(relationships),
  );
  const unions = [...registry.values()].map(schemasOfUnions);
  return Object.assign({}, ...relations.map(schemasOfLinkage), ...unions) as Schemas;
}

function schemasOfUnions(definition: ResourceDefinition): Schemas {
  const schemas = Object.keys(definition.unions ?? {}).flatMap((name) => {
    const types = unionTypes(definition, name).map((type) => refTo(`${type}_identifier`));
    const data = { oneOf: [...types, { type: 'null' }] };
    const shown = unionName(definition, name);
    return [
      [shown, narrowed('relationship', { data }, ['data'])],
      [`${shown}_linkage`, narrowed('linkage', { data })],
    ];
  });
  return Object.fromEntries(schemas) as Schemas;
}

function unionTypes(definition: ResourceDefinition, name: string): string[] {
  return (unionParts(definition, name) ?? []).map(([, { type }]) => type);
}

/** The `data` that names what a union is to point to. */
export function unionBody(definition: ResourceDefinition, name: string): Schema {
  const types = unionTypes(definition, name).map((type) => refTo(`${type}_reference`));
  const data = { oneOf: [...types, { type: 'null' }] };
  return { type: 'object', properties: { data }, required: ['data'] };
}

function schemasOfLinkage(relation: Relationship): Schemas {
  const { type, write } = relation;
  const schemas: Schemas = {
    [`${type}_identifier`]: identifierSchema(type, ID),
    [linkageName(relation)]: linkageDocument(relation),
    [shownName(relation)]: shownRelationship(relation),
  };
  if (write !== 'never') schemas[`${type}_reference`] = identifierSchema(type, refTo('given_id'));
  if (isChangedAlone(relation)) schemas[linkageBodyName(relation)] = linkageBody(relation);
  const matching = matchingBodyName(relation);
  if (matching !== linkageBodyName(relation)) schemas[matching] = matchingBody(relation);
  return schemas;
}

function identifierSchema(type: string, id: Schema): Schema {
  return {
    type: 'object',
    properties: { type: typeSchema(type), id },
    required: ['type', 'id'],
    additionalProperties: false,
  };
}

/** The name of the document of a relationship by its own path. */
export function linkageName({ kind, type }: Relationship): string {
  return kind === 'toOne' ? `${type}_to_one` : `${type}_to_many`;
}

/** Whether the relationship can be changed by its own path. */
export function isChangedAlone({ kind, write }: Relationship): boolean {
  return kind === 'toOne' ? write === 'always' : write !== 'never';
}

/** The name of the body that changes a relationship by its own path. */
export function linkageBodyName(relation: Relationship): string {
  const isNeeded = relation.kind === 'toOne' && relation.required;
  return `${linkageName(relation)}${isNeeded ? '_required' : ''}_body`;
}

function linkageDocument({ kind, type }: Relationship): Schema {
  const identifier = refTo(`${type}_identifier`);
  const one = { oneOf: [identifier, { type: 'null' }] };
  const data = kind === 'toOne' ? one : { type: 'array', items: identifier };
  return narrowed('linkage', { data });
}

/** The body of POST and DELETE where a filter may name the rows. */
export function matchingBodyName(relation: Relationship): string {
  const acceptsFilter = relation.kind === 'toMany' && relation.acceptsFilter;
  return acceptsFilter ? `${relation.type}_named_or_matching` : linkageBodyName(relation);
}

function matchingBody(relation: Relationship): Schema {
  const { properties } = linkageBody(relation) as { properties: Schema };
  const rule = { type: 'object', additionalProperties: true };
  const filter = {
    type: 'array',
    items: rule,
    minItems: 1,
    description: `In place of \`data\`: all that match, as in \`GET /${relation.type}?filter=…\`.`,
  };
  const meta = { type: 'object', properties: { filter, confirm: { type: 'integer' } } };
  return { type: 'object', properties: { ...properties, meta } };
}

/** The `data` that names what a relationship is to point to. */
export function linkageBody(relation: Relationship): Schema {
  const reference = refTo(`${relation.type}_reference`);
  const orNone = { oneOf: [reference, { type: 'null' }] };
  const one = relation.kind === 'toOne' && relation.required ? reference : orNone;
  const many = { type: 'array', items: reference, maxItems: MAX_IDENTIFIERS };
  const data = relation.kind === 'toOne' ? one : many;
  return { type: 'object', properties: { data }, required: ['data'] };
}
