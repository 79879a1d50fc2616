import type { ErrorCode } from '../../errors.js';
import type { Schema } from '../api-route.js';
import { codesOf, MEANINGS } from './error-codes.js';

/** What any operation may answer. */
export const COMMON_ERRORS = [401, 403, 406, 429];

const MEDIA_TYPE = 'application/vnd.api+json';

function titleOf(code: string): string {
  return code.charAt(0).toUpperCase() + code.slice(1).replaceAll('_', ' ').replace('json', 'JSON');
}

/** All error documents as `components.schemas`: one of each status with its own codes. */
export function errorSchemas(): Record<string, Schema> {
  const statuses = Object.keys(MEANINGS).map(Number);
  return {
    error_source: {
      type: 'object',
      description: 'Where in the request the fault lies.',
      properties: {
        pointer: { type: 'string', description: 'JSON pointer into the body.' },
        parameter: { type: 'string', description: 'Name of the query parameter.' },
        header: { type: 'string', description: 'Name of the header.' },
      },
      additionalProperties: false,
    },
    ...Object.fromEntries(statuses.map((status) => [`errors_${status}`, errorsSchema(status)])),
    errors: { anyOf: statuses.map((status) => schemaOf(status)) },
  };
}

function schemaOf(status: number): Schema {
  return { $ref: `#/components/schemas/errors_${status}` };
}

function errorsSchema(status: number): Schema {
  return {
    type: 'object',
    description: MEANINGS[status],
    properties: {
      errors: { type: 'array', minItems: 1, items: errorSchema(status) },
      jsonapi: { $ref: '#/components/schemas/jsonapi' },
    },
    required: ['errors', 'jsonapi'],
    additionalProperties: false,
  };
}

function errorSchema(status: number): Schema {
  return {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The id of the request, as in `X-Request-Id`.' },
      status: { type: 'string', enum: [String(status)] },
      code: { type: 'string', enum: codesOf(status), description: 'Stable: test for this.' },
      title: { type: 'string' },
      detail: { type: 'string', description: 'What is wrong, for people to read.' },
      source: { $ref: '#/components/schemas/error_source' },
    },
    required: ['id', 'status', 'code', 'title'],
    additionalProperties: false,
  };
}

/**
 * No operation of the document answers 405; what never gets as far as an operation and what the
 * server does wrong are told as one.
 */
const UNNAMED = [405, 408, 431, 500, 503];

/** The error answers as `components.responses`. */
export function errorResponses(): Record<string, Schema> {
  const statuses = Object.keys(MEANINGS).map(Number);
  const named = statuses.filter((status) => !UNNAMED.includes(status));
  const responses = named.map((status) => [`error_${status}`, errorResponse(status)] as const);
  const other = {
    description:
      'A fault of the server (500), not possible just now (503), or a request that could not be ' +
      'read: too slow (408), its URL and headers too large (431).',
    headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
    content: { [MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/errors' } } },
  };
  return { ...Object.fromEntries(responses), error: other };
}

const HEADERS: Record<number, string> = {
  401: 'WWW-Authenticate',
  429: 'Retry-After',
};

function errorResponse(status: number): Schema {
  const names = ['X-Request-Id', ...(HEADERS[status] ? [HEADERS[status]] : [])];
  const headers = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return {
    description: MEANINGS[status],
    headers: Object.fromEntries(headers),
    content: { [MEDIA_TYPE]: { schema: schemaOf(status), example: exampleOf(status) } },
  };
}

const SOURCES: Record<number, Record<string, string>> = {
  400: { parameter: 'sort' },
  409: { pointer: '/data/attributes/name' },
  422: { pointer: '/data/attributes/name' },
};

function exampleOf(status: number) {
  const preferred: Record<number, ErrorCode> = {
    400: 'invalid_parameter',
    409: 'already_exists',
    422: 'validation_failed',
  };
  const code = preferred[status] ?? codesOf(status)[0] ?? 'bad_request';
  const source = SOURCES[status];
  const error = {
    id: '3f0c2a54-9d0e-4f0e-8a44-0b7c1f5f2a10',
    status: String(status),
    code,
    title: titleOf(code),
    detail: MEANINGS[status],
    ...(source ? { source } : {}),
  };
  return { errors: [error], jsonapi: { version: '1.0' } };
}

/** The error members of an operation's `responses`. */
export function errorAnswers(statuses: number[]): Record<string, Schema> {
  const known = [...new Set([...statuses, ...COMMON_ERRORS])].sort((a, b) => a - b);
  const entries = known.map((status) => [
    status,
    { $ref: `#/components/responses/error_${status}` },
  ]);
  return { ...Object.fromEntries(entries), default: { $ref: '#/components/responses/error' } };
}
