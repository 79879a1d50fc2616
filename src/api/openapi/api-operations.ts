import type { ApiAnswer, ApiContent, ApiOperation, ApiRoute, Schema } from '../api-route.js';
import { answerObject, operationObject } from './operation.js';
import { parameterRef } from './parameters.js';

/** The Path Item Object of a route that is no CRUD. */
export function apiPathItem({ path, methods }: ApiRoute): Schema {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => pathParameter(name));
  const operations = Object.entries(methods).map(([method, operation]) => [
    method.toLowerCase(),
    apiOperation(operation, inPath),
  ]);
  return Object.fromEntries(operations);
}

function pathParameter(name: string): Schema {
  if (name === 'id') return parameterRef('id');
  const schema = { $ref: '#/components/schemas/id' };
  return { name, in: 'path', required: true, schema };
}

function apiOperation(operation: ApiOperation, inPath: Schema[]): Schema {
  const { operationId, summary, description, tag, role, parameters = [], errors } = operation;
  const { requestBody } = operation;
  const answers = operation.answers.map((answer) => [answer.status, answerOf(answer)]);
  return operationObject({
    ...{ operationId, summary, description, tag, role, errors },
    parameters: [...inPath, ...parameters.map((parameter) => ({ ...parameter }))],
    ...(requestBody
      ? { requestBody: { ...requestBody, content: contentOf(requestBody.content) } }
      : {}),
    answers: Object.fromEntries(answers),
  });
}

function answerOf({ description, content }: ApiAnswer): Schema {
  return answerObject({ description, ...(content ? { content: contentOf(content) } : {}) });
}

function contentOf(content: ApiContent[]): Schema {
  return Object.fromEntries(
    content.map(({ mediaType, schema, example }) => [
      mediaType,
      { schema, ...(example === undefined ? {} : { example }) },
    ]),
  );
}
