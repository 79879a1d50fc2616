import type { Role } from '../../jsonapi/context.js';
import type { Schema } from '../api-route.js';
import { errorAnswers } from './error-responses.js';
import { parameterRef } from './parameters.js';

export const JSON_API = 'application/vnd.api+json';

/** What the document says of one operation, before it is written out. */
export interface OperationText {
  operationId: string;
  summary: string;
  description?: string | undefined;
  tag: string;
  role: Role;
  /** Of the path and the query, and headers beside X-Request-Id. */
  parameters: Schema[];
  requestBody?: Schema;
  answers: Record<string, Schema>;
  /** Statuses of error documents beside those that every operation has. */
  errors: number[];
}

/** An Operation Object of OpenAPI 3.1. */
export function operationObject(text: OperationText): Schema {
  const { operationId, summary, tag, role, parameters, requestBody, answers, errors } = text;
  const needs = `Needs the role \`${role}\`.`;
  return {
    operationId,
    tags: [tag],
    summary,
    description: text.description ? `${text.description}\n\n${needs}` : needs,
    'x-role': role,
    parameters: [...parameters, parameterRef('request_id')],
    ...(requestBody ? { requestBody } : {}),
    responses: { ...answers, ...errorAnswers(errors) },
  };
}

const HEADERS = {
  'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
};

export interface AnswerText {
  description: string;
  content?: Schema;
  headers?: string[];
}

/** A Response Object with its headers. */
export function answerObject({ description, content, headers = [] }: AnswerText): Schema {
  const more = headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return {
    description,
    headers: { ...HEADERS, ...Object.fromEntries(more) },
    ...(content ? { content } : {}),
  };
}

/** What a GET answers: the document, or that the client has it already. */
export function readAnswers(description: string, content: Schema): Record<string, Schema> {
  const headers = ['ETag'];
  return {
    200: answerObject({ description, content, headers }),
    304: answerObject({ description: 'Nothing has changed.', headers }),
  };
}

/** A body that is taken under both media types. */
export function jsonBodyObject(schema: Schema, example?: string): Schema {
  const content = { schema, ...exampleOf(example) };
  return { required: true, content: { [JSON_API]: content, 'application/json': content } };
}

export function jsonApiObject(schema: Schema, example?: string): Schema {
  return { [JSON_API]: { schema, ...exampleOf(example) } };
}

function exampleOf(name: string | undefined): Schema {
  if (name === undefined) return {};
  return { examples: { [name]: { $ref: `#/components/examples/${name}` } } };
}
