import type {
  Registry,
  Relationship,
  ResourceDefinition,
  View,
} from '../../../jsonapi/definition/definition.js';
import type { Schema } from '../../api-route.js';
import { isChangedAlone, linkageName } from '../schemas/linkage-schemas.js';
import { type Schemas, unionName } from '../schemas/resource-schemas.js';
import { sampleAttributes, sampleValue } from './sample-values.js';

const ID = 7;
const RELATED_ID = 3;
const JSONAPI = { version: '1.0' };

/** One example of every document and body of each type, by the names of `components.examples`. */
export function resourceExamples(definition: ResourceDefinition, basePath: string): Schemas {
  const { type, access } = definition;
  const examples: Schemas = {
    [`${type}_document`]: example(documentExample(definition, basePath)),
  };
  if (access.create) Object.assign(examples, createExamples(definition));
  if (access.update) examples[`${type}_update`] = example(updateExample(definition));
  return examples;
}

/** Examples of the documents of relationships, and of the bodies that change them. */
export function linkageExamples(registry: Registry, basePath: string): Schemas {
  const examples = [...registry.values()].flatMap((definition) =>
    Object.entries(definition.relationships).map(([name, relation]) => {
      const self = `${basePath}${definition.path}/${ID}`;
      return linkageExample({ name, relation, self });
    }),
  );
  const ofUnions = [...registry.values()].flatMap((definition) =>
    Object.keys(definition.unions ?? {}).map((name) => {
      const links = { self: `${basePath}${definition.path}/${ID}/relationships/${name}` };
      return {
        [`${unionName(definition, name)}_linkage`]: example({
          data: null,
          links,
          jsonapi: JSONAPI,
        }),
      };
    }),
  );
  return Object.assign({}, ...examples, ...ofUnions) as Schemas;
}

function linkageExample({ name, relation, self }: Link): Schemas {
  const data = linkage(relation);
  const own = `${self}/relationships/${name}`;
  const isOne = relation.kind === 'toOne';
  const links = isOne ? { self: own } : { self: own, related: `${self}/${name}` };
  const shown = isOne ? { data: null, links } : { data, links };
  const examples: Schemas = {
    [linkageName(relation)]: example({ ...shown, jsonapi: JSONAPI }),
  };
  if (isChangedAlone(relation)) examples[`${linkageName(relation)}_body`] = example({ data });
  return examples;
}

function example(value: unknown): Schema {
  return { value };
}

function linkage({ kind, type }: Relationship) {
  const identifier = { type, id: RELATED_ID };
  return kind === 'toOne' ? identifier : [identifier];
}

/** More would be most of the document: a device has 160. */
const MAX_ATTRIBUTES = 5;

/** A resource as documents show it, with the first of its attributes and no relationships. */
function resource(definition: ResourceDefinition, basePath: string) {
  const { type, path } = definition;
  const self = `${basePath}${path}/${ID}`;
  const shown = Object.entries(definition.attributes)
    .filter(([, { writeOnly, heavy, onRequest }]) => !writeOnly && !heavy && !onRequest)
    .slice(0, MAX_ATTRIBUTES);
  const attributes = shown.map(([name, attribute]) => [name, sampleValue(name, attribute) ?? null]);
  return {
    type,
    id: ID,
    attributes: Object.fromEntries(attributes),
    links: { self },
  };
}

interface Link {
  name: string;
  relation: Relationship;
  self: string;
}

function documentExample(definition: ResourceDefinition, basePath: string) {
  const data = resource(definition, basePath);
  const { alwaysArray } = definition;
  return {
    data: alwaysArray ? [data] : data,
    links: { self: data.links.self },
    meta: alwaysArray ? { count: 1 } : undefined,
    jsonapi: JSONAPI,
  };
}

/** The name of the example of a create in a view, or in the collection of all. */
export function createExampleName(type: string, view?: View): string {
  return view === undefined ? `${type}_create` : `${type}_create_${view.value.replace('.', '_')}`;
}

/** Each view gets a separate example, without the attribute that its path sets. */
function createExamples(definition: ResourceDefinition): Schemas {
  const { type, views = [] } = definition;
  const inViews = views.map((view) => [
    createExampleName(type, view),
    example(createExample(definition, view)),
  ]);
  return {
    [createExampleName(type)]: example(createExample(definition)),
    ...Object.fromEntries(inViews),
  };
}

function createExample(definition: ResourceDefinition, view?: View) {
  const { type } = definition;
  const required = Object.entries(definition.relationships).filter(
    ([, relation]) => relation.kind === 'toOne' && relation.required,
  );
  const relationships = required.map(([name, to]) => [name, { data: linkage(to) }]);
  return {
    data: {
      type,
      attributes: sampleAttributes(definition, 'create', view),
      relationships: required.length > 0 ? Object.fromEntries(relationships) : undefined,
    },
  };
}

function updateExample(definition: ResourceDefinition) {
  const { type } = definition;
  return { data: { type, id: ID, attributes: sampleAttributes(definition, 'update') } };
}
