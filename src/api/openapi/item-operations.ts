import {
  deleteParameters,
  documentParameters,
  type OperationPlace,
  writeParameters,
} from './collection-operations.js';
import {
  answerObject,
  jsonApiObject,
  jsonBodyObject,
  type OperationText,
  readAnswers,
} from './operation.js';
import { camelCase, one, singular } from './operation-names.js';
import { parameterRef } from './parameters.js';
import { refTo } from './resource-schemas.js';
import type { RouteSubject } from './route-subject.js';

type Item = Extract<RouteSubject, { kind: 'item' }>;

/** GET, PATCH and DELETE of one resource. */
export function itemOperation(subject: Item, place: OperationPlace): OperationText {
  if (place.method === 'PATCH') return updateOperation(subject, place);
  return place.method === 'DELETE' ? deleteOperation(subject, place) : getOperation(subject, place);
}

function documentContent(type: string) {
  return jsonApiObject(refTo(`${type}_document`), `${type}_document`);
}

function getOperation({ definition }: Item, { role, registry }: OperationPlace): OperationText {
  const { type } = definition;
  return {
    operationId: `get${camelCase(singular(type))}`,
    summary: `Get ${one(type)}`,
    tag: type,
    role,
    parameters: [
      parameterRef('id'),
      ...documentParameters(definition, registry),
      parameterRef('if_none_match'),
    ],
    answers: readAnswers('The resource.', documentContent(type)),
    errors: [400, 404],
  };
}

function updateOperation({ definition }: Item, { role, registry }: OperationPlace): OperationText {
  const { type } = definition;
  const content = documentContent(type);
  const headers = ['ETag', 'Idempotency-Replayed'];
  const updated = { description: 'The resource as it is now.', content, headers };
  return {
    operationId: `update${camelCase(singular(type))}`,
    summary: `Update ${one(type)}`,
    description: 'What is left out stays, null clears.',
    tag: type,
    role,
    parameters: [
      parameterRef('id'),
      ...documentParameters(definition, registry),
      ...writeParameters(definition),
      parameterRef('idempotency_key'),
      parameterRef('if_match'),
    ],
    requestBody: jsonBodyObject(refTo(`${type}_update`), `${type}_update`),
    answers: { 200: answerObject(updated) },
    errors: [400, 404, 409, 412, 413, 415, 422],
  };
}

function deleteOperation({ definition }: Item, { role }: OperationPlace): OperationText {
  const { type } = definition;
  const parameters = [
    parameterRef('id'),
    ...deleteParameters(definition),
    ...['idempotency_key', 'if_match'].map(parameterRef),
  ];
  return {
    operationId: `delete${camelCase(singular(type))}`,
    summary: `Delete ${one(type)}`,
    tag: type,
    role,
    parameters,
    answers: {
      204: answerObject({ description: 'It is gone.', headers: ['Idempotency-Replayed'] }),
    },
    errors: [400, 404, 409, 412, 422],
  };
}
