import type { Role } from '../../../jsonapi/context.js';
import {
  createFlagsOf,
  type Registry,
  type ResourceDefinition,
} from '../../../jsonapi/definition/definition.js';
import type { Method } from '../../../jsonapi/operations/endpoints.js';
import type { Schema } from '../../api-route.js';
import { createExampleName } from '../examples/examples.js';
import { createSchemaName } from '../schemas/body-schemas.js';
import { answerRef, bodyRef, type OperationText, readAnswers } from './operation.js';
import { camelCase, one, singular, words } from './operation-names.js';
import { includeName, parameterRef } from './parameters.js';
import type { Parent, RouteSubject } from './route-subject.js';

export interface OperationPlace {
  method: Method;
  role: Role;
  registry: Registry;
}

type Collection = Extract<RouteSubject, { kind: 'collection' }>;

/** GET and POST of a type's collection, of a view, and of a collection below a parent. */
export function collectionOperation(subject: Collection, place: OperationPlace): OperationText {
  return place.method === 'POST' ? createOperation(subject, place) : listOperation(subject, place);
}

/** Names from the path's last segment; below a parent, from the parent too. */
function namesOf({ definition, view, parent }: Collection, registry: Registry) {
  const plural = parent?.relationship ?? view?.path.split('/').pop() ?? definition.type;
  const nameOf = (what: string) => (parent ? nameBelow(parent, what, registry) : camelCase(what));
  return {
    plural,
    list: `list${nameOf(plural)}`,
    create: `create${nameOf(singular(plural))}`,
    below: parent ? ` of ${one(parent.definition.type)}` : '',
  };
}

/** Avoids names that collide with a type: the payloads of a profile are not `ProfilePayloads`. */
function nameBelow({ definition, relationship }: Parent, what: string, registry: Registry) {
  const owner = singular(definition.type);
  return registry.has(`${owner}_${relationship}`)
    ? `${camelCase(what)}Of${camelCase(owner)}`
    : camelCase(owner) + camelCase(what);
}

function pathParameters({ parent }: Collection): Schema[] {
  return parent ? [parameterRef('id')] : [];
}

/** Parameters that shape documents with resources of this type. */
export function documentParameters(definition: ResourceDefinition): Schema[] {
  const hasRelations = Object.keys(definition.relationships).length > 0;
  return [...(hasRelations ? [includeName(definition)] : []), 'fields'].map(parameterRef);
}

/** A parameter for each flag of writes. */
export function writeParameters(type: string, flags: Record<string, string> = {}): Schema[] {
  return Object.keys(flags).map((name) => parameterRef(`${type}_${name}`));
}

/** A parameter for each flag of deletes. */
export function deleteParameters({ type, deleteFlags = {} }: ResourceDefinition): Schema[] {
  return Object.keys(deleteFlags).map((name) => parameterRef(`${type}_delete_${name}`));
}

function listOperation(subject: Collection, { role, registry }: OperationPlace): OperationText {
  const { definition, parent } = subject;
  const { type } = definition;
  const { list, plural, below } = namesOf(subject, registry);
  const names = ['page', `${type}_sort`, 'filter'];
  return {
    operationId: list,
    summary: `List ${words(plural)}${below}`,
    tag: type,
    role,
    parameters: [
      ...pathParameters(subject),
      ...names.map(parameterRef),
      ...documentParameters(definition),
      parameterRef('if_none_match'),
    ],
    answers: readAnswers(`${type}_list`),
    errors: parent ? [400, 404] : [400],
  };
}

function createOperation(subject: Collection, { role, registry }: OperationPlace): OperationText {
  const { definition, parent, view } = subject;
  const { type } = definition;
  const { create, plural, below } = namesOf(subject, registry);
  return {
    operationId: create,
    summary: `Create ${one(plural)}${below}`,
    description: createDescription(subject),
    tag: type,
    role,
    parameters: [
      ...pathParameters(subject),
      ...documentParameters(definition),
      ...writeParameters(type, createFlagsOf(definition)),
      parameterRef('idempotency_key'),
    ],
    requestBody: bodyRef(
      view ? createExampleName(type, view) : createSchemaName(type, parent?.fixes),
    ),
    answers: { 201: answerRef(`${type}_created`) },
    errors: [400, 404, 409, 413, 415, 422],
  };
}

function createDescription({ parent, view }: Collection): string | undefined {
  if (view) return `Its \`${view.attribute}\` is \`${view.value}\`.`;
  return parent ? `It is linked to the ${words(singular(parent.definition.type))}.` : undefined;
}
