import type { Role } from '../../../jsonapi/context.js';
import type { Schema } from '../../api-route.js';
import { errorAnswers } from '../schemas/error-responses.js';

export const JSON_API = 'application/vnd.api+json';

/** What the document says of one operation, before it is written out. */
export interface OperationText {
  operationId: string;
  summary: string;
  description?: string | undefined;
  tag: string;
  role: Role;
  /** It needs no credentials. */
  isOpen?: boolean | undefined;
  /** Path, query and header parameters. */
  parameters: Schema[];
  requestBody?: Schema | undefined;
  answers: Record<string, Schema>;
  /** Statuses of error documents beside those that every operation has. */
  errors: number[];
}

/** An Operation Object of OpenAPI 3.1. */
export function operationObject(text: OperationText): Schema {
  const { operationId, summary, tag, role, parameters, requestBody, answers, errors } = text;
  const needs = text.isOpen ? 'Needs no credentials.' : `Role: \`${role}\`.`;
  return {
    operationId,
    tags: [tag],
    summary,
    description: text.description ? `${text.description}\n\n${needs}` : needs,
    'x-role': role,
    security: text.isOpen ? [] : undefined,
    parameters,
    requestBody,
    responses: { ...answers, ...errorAnswers(errors) },
  };
}

export interface AnswerText {
  description: string;
  content?: Schema | undefined;
  headers?: string[];
}

/** A Response Object; every response has X-Request-Id beside its headers. */
export function answerObject({ description, content, headers = [] }: AnswerText): Schema {
  const more = headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return {
    description,
    headers: more.length > 0 ? Object.fromEntries(more) : undefined,
    content,
  };
}

/** A response that several operations share, by its name in `components.responses`. */
export function answerRef(name: string): Schema {
  return { $ref: `#/components/responses/${name}` };
}

/** A body that several operations share, by its name in `components.requestBodies`. */
export function bodyRef(name: string): Schema {
  return { $ref: `#/components/requestBodies/${name}` };
}

/** What a GET answers: the document, or that the client has it already. */
export function readAnswers(name: string): Record<string, Schema> {
  return { 200: answerRef(name), 304: answerRef('304') };
}

/** A body that is accepted under both media types. */
export function jsonBodyObject(schema: Schema, example: string): Schema {
  const content = { ...jsonApiObject(schema, example), 'application/json': { schema } };
  return { required: true, content };
}

export function jsonApiObject(schema: Schema, example?: string): Schema {
  return { [JSON_API]: { schema, examples: example && exampleOf(example) } };
}

function exampleOf(name: string): Schema {
  return { [name]: { $ref: `#/components/examples/${name}` } };
}
