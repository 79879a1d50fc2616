import type { ErrorCode } from '../../../errors.js';
import type { Schema } from '../../api-route.js';
import { codesOf, MEANINGS } from './error-codes.js';

/** Statuses that any operation may answer; `default` describes them. */
export const COMMON_ERRORS = [400, 401, 403, 404, 406, 408, 412, 413, 415, 429, 431, 500, 503];

/** The statuses that operations name. No operation answers 405: it means that there is no operation. */
const NAMED_ERRORS = Object.keys(MEANINGS)
  .map(Number)
  .filter((status) => status !== 405 && !COMMON_ERRORS.includes(status));

const MEDIA_TYPE = 'application/vnd.api+json';

function titleOf(code: string): string {
  return code.charAt(0).toUpperCase() + code.slice(1).replaceAll('_', ' ').replace('json', 'JSON');
}

/** The error documents as `components.schemas`: one of each named status, one of all others. */
export function errorSchemas(): Record<string, Schema> {
  return {
    error: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'The id of the request, as in `X-Request-Id`.' },
        status: { type: 'string' },
        code: { type: 'string', description: 'Stable: test for this.' },
        title: { type: 'string' },
        detail: { type: 'string', description: 'What is wrong, for people to read.' },
        source: {
          type: 'object',
          description: 'Where in the request the fault lies.',
          properties: {
            pointer: { type: 'string', description: 'JSON pointer into the body.' },
            parameter: { type: 'string', description: 'Name of the query parameter.' },
            header: { type: 'string', description: 'Name of the header.' },
          },
          additionalProperties: false,
        },
        meta: {
          type: 'object',
          description:
            'Of `confirmation_required`: the number to `confirm`, and in `items` the `gains` and `losses` of each ' +
            'profile.',
        },
      },
      required: ['id', 'status', 'code', 'title'],
      additionalProperties: false,
    },
    ...Object.fromEntries(
      NAMED_ERRORS.map((status) => [`errors_${status}`, errorsSchema([status])]),
    ),
    errors: errorsSchema(COMMON_ERRORS),
  };
}

function errorsSchema(statuses: number[]): Schema {
  const properties = {
    status: { enum: statuses.map(String) },
    code: { enum: [...new Set(statuses.flatMap(codesOf))] },
  };
  const error = { allOf: [{ $ref: '#/components/schemas/error' }, { type: 'object', properties }] };
  return {
    type: 'object',
    properties: {
      errors: { type: 'array', minItems: 1, items: error },
      jsonapi: { $ref: '#/components/schemas/jsonapi' },
    },
    required: ['errors', 'jsonapi'],
    additionalProperties: false,
  };
}

/** The error answers as `components.responses`, by their status. */
export function errorResponses(): Record<string, Schema> {
  const named = NAMED_ERRORS.map((status) => [status, namedResponse(status)] as const);
  const lines = COMMON_ERRORS.map((status) => `- ${status}: ${MEANINGS[status]}`);
  const description = `Any operation may answer:\n\n${lines.join('\n')}`;
  const headers = ['X-Request-Id', 'WWW-Authenticate', 'Retry-After'];
  const schema = { $ref: '#/components/schemas/errors' };
  const content = { [MEDIA_TYPE]: { schema, example: exampleOf(401) } };
  return {
    ...Object.fromEntries(named),
    default: { description, headers: headerRefs(headers), content },
  };
}

function namedResponse(status: number): Schema {
  const schema = { $ref: `#/components/schemas/errors_${status}` };
  return {
    description: MEANINGS[status],
    headers: headerRefs(['X-Request-Id']),
    content: { [MEDIA_TYPE]: { schema, example: exampleOf(status) } },
  };
}

function headerRefs(names: string[]): Schema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const SOURCES: Record<number, Record<string, string>> = {
  409: { pointer: '/data/attributes/name' },
  422: { pointer: '/data/attributes/name' },
};

const EXAMPLES: Partial<Record<number, ErrorCode>> = {
  409: 'already_exists',
  422: 'validation_failed',
};

function exampleOf(status: number) {
  const code = EXAMPLES[status] ?? codesOf(status)[0] ?? 'bad_request';
  const source = SOURCES[status];
  const error = {
    id: '3f0c2a54-9d0e-4f0e-8a44-0b7c1f5f2a10',
    status: String(status),
    code,
    title: titleOf(code),
    detail: MEANINGS[status],
    source,
  };
  return { errors: [error], jsonapi: { version: '1.0' } };
}

/** The error members of an operation's `responses`. */
export function errorAnswers(statuses: number[]): Record<string, Schema> {
  const named = [...new Set(statuses)].filter((status) => NAMED_ERRORS.includes(status));
  const entries = named.sort((a, b) => a - b).map((status) => [status, answerRef(`${status}`)]);
  return { ...Object.fromEntries(entries), default: answerRef('default') };
}

function answerRef(name: string): Schema {
  return { $ref: `#/components/responses/${name}` };
}
