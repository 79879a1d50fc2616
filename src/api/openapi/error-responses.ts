import type { ErrorCode } from '../../errors.js';
import type { Schema } from '../api-route.js';

/** The status each code comes with below /api/v1; none for codes that only devices or logs get. */
const STATUSES: Record<ErrorCode, number[]> = {
  bad_request: [400],
  malformed_json: [400],
  invalid_document: [422],
  invalid_parameter: [400],
  invalid_plist: [422],
  invalid_asn1: [422],
  invalid_certificate: [422],
  invalid_signature: [422],
  invalid_message: [],
  unauthorized: [401],
  forbidden: [403],
  not_found: [404, 409],
  no_such_route: [404],
  method_not_allowed: [405],
  not_acceptable: [406],
  conflict: [409],
  wrong_type: [409],
  already_exists: [409],
  in_use: [409],
  no_unlock_token: [409],
  device_unenrolled: [409],
  command_already_sent: [409],
  command_final: [409],
  enrollment_closed: [],
  precondition_failed: [412],
  idempotency_key_reused: [422],
  key_mismatch: [422],
  certificate_not_valid: [422],
  push_topic_mismatch: [422],
  key_export_off: [403],
  invalid_pkcs12: [422],
  invalid_profile: [422],
  encrypted_profile: [422],
  invalid_multipart: [400],
  payload_too_large: [413],
  unsupported_media_type: [415],
  validation_failed: [422],
  unsupported_on_platform: [422],
  too_many_requests: [429],
  unavailable: [503],
  master_key_mismatch: [],
  internal_error: [500],
};

const MEANINGS: Record<number, string> = {
  400: 'The request is malformed, or a query parameter is unknown or has a bad value.',
  401: 'No valid token came with the request.',
  403: 'The role of the token does not allow this.',
  404: 'A resource that the path or the body names does not exist.',
  405: 'The path does not know this method; `Allow` names those it knows.',
  406: 'Every media type of `Accept` carries parameters that are not supported.',
  409: 'The request conflicts with what is stored.',
  412: 'The resource has changed since the `ETag` in `If-Match` was read.',
  413: 'The body is too large.',
  415: 'The media type of the body is not supported.',
  422: 'The body is not valid; each fault is told with its JSON pointer.',
  429: 'Too many failed authentications from this address.',
  500: 'A fault of the server; nothing was changed.',
  503: 'Not possible just now, for example because the database is away.',
};

/** What any operation may answer. */
export const COMMON_ERRORS = [401, 403, 406, 429];

const MEDIA_TYPE = 'application/vnd.api+json';

/** Every stable code of this status. */
export function codesOf(status: number): ErrorCode[] {
  const codes = Object.keys(STATUSES) as ErrorCode[];
  return codes.filter((code) => STATUSES[code].includes(status));
}

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

/** The error answers as `components.responses`. */
export function errorResponses(): Record<string, Schema> {
  const entries = Object.keys(MEANINGS).map(Number);
  const responses = entries.map((status) => [`error_${status}`, errorResponse(status)] as const);
  const other = {
    description: 'A fault of the server (500), or not possible just now (503).',
    headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
    content: { [MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/errors' } } },
  };
  return { ...Object.fromEntries(responses), error: other };
}

const HEADERS: Record<number, string> = {
  401: 'WWW-Authenticate',
  405: 'Allow',
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
    ...(status < 500 ? { detail: MEANINGS[status] } : {}),
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

/** The table of codes, as Markdown. */
export function codeTable(): string {
  const rows = Object.keys(MEANINGS).map((status) => {
    const codes = codesOf(Number(status)).map((code) => `\`${code}\``);
    return `| ${status} | ${codes.join(' ')} |`;
  });
  return ['| status | `code` |', '| --- | --- |', ...rows].join('\n');
}
