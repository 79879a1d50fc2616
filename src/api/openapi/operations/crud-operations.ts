import type { Registry } from '../../../jsonapi/definition/definition.js';
import type { Endpoint, Method, Route } from '../../../jsonapi/operations/endpoints.js';
import type { Schema } from '../../api-route.js';
import {
  collectionOperation,
  deleteParameters,
  documentParameters,
  type OperationPlace,
  writeParameters,
} from './collection-operations.js';
import {
  answerRef,
  bodyRef,
  type OperationText,
  operationObject,
  readAnswers,
} from './operation.js';
import { camelCase, one, singular } from './operation-names.js';
import { parameterRef } from './parameters.js';
import { relationshipOperation, unionOperation } from './relationship-operations.js';
import { type RouteSubject, subjectOf } from './route-subject.js';

/** The Path Item Object of a route that follows from a definition. */
export function crudPathItem({ path, methods }: Route, registry: Registry): Schema {
  const subject = subjectOf(path, registry);
  const entries = Object.entries(methods) as [Method, Endpoint][];
  const operations = entries.map(([method, { role }]) => {
    const text = operationText(subject, { method, role, registry });
    return [method.toLowerCase(), operationObject(text)] as const;
  });
  return Object.fromEntries(operations);
}

function operationText(subject: RouteSubject, place: OperationPlace): OperationText {
  switch (subject.kind) {
    case 'collection':
      return collectionOperation(subject, place);
    case 'item':
      return itemOperation(subject, place);
    case 'relationship':
      return relationshipOperation(subject, place);
    case 'union':
      return unionOperation(subject, place);
  }
}

type Item = Extract<RouteSubject, { kind: 'item' }>;

/** GET, PATCH and DELETE of one resource. */
function itemOperation(subject: Item, place: OperationPlace): OperationText {
  if (place.method === 'PATCH') return updateOperation(subject, place);
  return place.method === 'DELETE' ? deleteOperation(subject, place) : getOperation(subject, place);
}

function getOperation({ definition }: Item, { role }: OperationPlace): OperationText {
  const { type } = definition;
  return {
    operationId: `get${camelCase(singular(type))}`,
    summary: `Get ${one(type)}`,
    tag: type,
    role,
    parameters: [
      parameterRef('id'),
      ...documentParameters(definition),
      parameterRef('if_none_match'),
    ],
    answers: readAnswers(type),
    errors: [400, 404],
  };
}

function updateOperation({ definition }: Item, { role }: OperationPlace): OperationText {
  const { type } = definition;
  return {
    operationId: `update${camelCase(singular(type))}`,
    summary: `Update ${one(type)}`,
    description: 'What is left out stays, null clears.',
    tag: type,
    role,
    parameters: [
      parameterRef('id'),
      ...documentParameters(definition),
      ...writeParameters(type, definition.writeFlags),
      parameterRef('idempotency_key'),
      parameterRef('if_match'),
    ],
    requestBody: bodyRef(`${type}_update`),
    answers: { 200: answerRef(type) },
    errors: [400, 404, 409, 412, 413, 415, 422],
  };
}

function deleteOperation({ definition }: Item, { role }: OperationPlace): OperationText {
  const { type } = definition;
  const parameters = [
    parameterRef('id'),
    ...deleteParameters(definition),
    parameterRef('idempotency_key'),
    parameterRef('if_match'),
  ];
  return {
    operationId: `delete${camelCase(singular(type))}`,
    summary: `Delete ${one(type)}`,
    tag: type,
    role,
    parameters,
    answers: { 204: answerRef('204') },
    errors: [400, 404, 409, 412, 422],
  };
}
