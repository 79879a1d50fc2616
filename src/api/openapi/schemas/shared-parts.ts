import type { Registry, ResourceDefinition } from '../../../jsonapi/definition/definition.js';
import { createExampleName } from '../examples/examples.js';
import { answerObject, jsonApiObject, jsonBodyObject } from '../operations/operation.js';
import { words } from '../operations/operation-names.js';
import { createSchemaName } from './body-schemas.js';
import {
  isChangedAlone,
  linkageBodyName,
  linkageName,
  matchingBodyName,
} from './linkage-schemas.js';
import { refTo, type Schemas, unionName } from './resource-schemas.js';

/** The successful answers that several operations share, for `components.responses`. */
export function sharedAnswers(registry: Registry): Schemas {
  const definitions = [...registry.values()];
  return {
    304: answerObject({ description: 'Nothing has changed.', headers: ['ETag'] }),
    204: answerObject({ description: 'It is deleted.', headers: ['Idempotency-Replayed'] }),
    links_later: answerObject({
      description: 'More than 5,000 match, `meta.matched`: jobs named `links.change` change them.',
      content: jsonApiObject({ type: 'object' }),
    }),
    ...merge(definitions.map(resourceAnswers)),
    ...merge(definitions.map(linkageAnswers)),
  };
}

function resourceAnswers({ type, access }: ResourceDefinition): Schemas {
  const content = jsonApiObject(refTo(`${type}_document`), `${type}_document`);
  const list = {
    ...jsonApiObject(refTo(`${type}_list`)),
    'text/csv': {},
  };
  const replayed = access.update === null ? [] : ['Idempotency-Replayed'];
  const found = { description: 'The resource.', content, headers: ['ETag', ...replayed] };
  const headers = ['Location', 'ETag', 'Idempotency-Replayed'];
  const created = answerObject({ description: 'What was created.', content, headers });
  const answers: Schemas = {
    [type]: answerObject(found),
    [`${type}_list`]: answerObject({
      description: `A page of ${words(type)}.`,
      content: list,
      headers: ['ETag'],
    }),
  };
  if (access.create !== null) answers[`${type}_created`] = created;
  return answers;
}

function linkageAnswers(definition: ResourceDefinition): Schemas {
  const { relationships, unions = {} } = definition;
  const answers = Object.values(relationships).map((relation) => {
    return linkageAnswer(linkageName(relation));
  });
  const ofUnions = Object.keys(unions).map((name) =>
    linkageAnswer(`${unionName(definition, name)}_linkage`),
  );
  return merge([...answers, ...ofUnions]);
}

function linkageAnswer(name: string): Schemas {
  const content = jsonApiObject(refTo(name), name);
  const headers = ['ETag', 'Idempotency-Replayed'];
  return { [name]: answerObject({ description: 'What it points to.', content, headers }) };
}

/** The bodies that several operations share, for `components.requestBodies`. */
export function sharedBodies(registry: Registry, fixed: Map<string, string[]>): Schemas {
  const definitions = [...registry.values()];
  return {
    ...merge(definitions.map((definition) => resourceBodies(definition, fixed))),
    ...merge(definitions.map(linkageBodies)),
  };
}

function resourceBodies(definition: ResourceDefinition, fixed: Map<string, string[]>): Schemas {
  const { type, access, views = [] } = definition;
  const bodies: Schemas = {};
  const add = (name: string, schema: string, example: string) => {
    bodies[name] = jsonBodyObject(refTo(schema), example);
  };
  if (access.create !== null) {
    const example = createExampleName(type);
    // A view has a separate body, with an example that fits it.
    const inViews = views.map(({ attribute }) => attribute);
    const parts = (fixed.get(type) ?? []).filter((name) => !inViews.includes(name));
    for (const part of [undefined, ...parts]) {
      add(createSchemaName(type, part), createSchemaName(type, part), example);
    }
    for (const view of views) {
      const name = createExampleName(type, view);
      add(name, createSchemaName(type, view.attribute), name);
    }
  }
  if (access.update !== null) add(`${type}_update`, `${type}_update`, `${type}_update`);
  return bodies;
}

function linkageBodies({ relationships }: ResourceDefinition): Schemas {
  const changed = Object.values(relationships).filter(isChangedAlone);
  return merge(
    changed.map((relation) => {
      const names = [linkageBodyName(relation), matchingBodyName(relation)];
      const example = `${linkageName(relation)}_body`;
      return Object.fromEntries(names.map((name) => [name, jsonBodyObject(refTo(name), example)]));
    }),
  );
}

function merge(parts: Schemas[]): Schemas {
  return Object.assign({}, ...parts) as Schemas;
}
