import type { ApiAnswer, ApiContent, ApiOperation, ApiRoute, Schema } from '../../api-route.js';
import { refTo, type Schemas } from '../schemas/resource-schemas.js';
import { answerObject, operationObject } from './operation.js';
import { parameterRef } from './parameters.js';

/** The Path Item Object of a route that is not CRUD. */
export function apiPathItem({ path, methods, pathSchemas = {} }: ApiRoute): Schema {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) =>
    pathParameter(name, pathSchemas[name]),
  );
  const operations = Object.entries(methods).map(([method, operation]) => [
    method.toLowerCase(),
    apiOperation(method, operation, inPath),
  ]);
  return Object.fromEntries(operations);
}

function pathParameter(name: string, own?: Schema): Schema {
  if (name === 'id') return parameterRef('id');
  const schema = own ?? { $ref: '#/components/schemas/id' };
  return { name, in: 'path', required: true, schema };
}

/** The bodies of JSON that have no name yet, under that of their operation. */
export function apiBodySchemas(routes: ApiRoute[]): Schemas {
  const operations = routes.flatMap(({ methods }) => Object.values(methods));
  const bodies = operations.flatMap(({ operationId, requestBody }) =>
    (requestBody?.content ?? [])
      .filter(isUnnamedJson)
      .map(({ schema }) => [bodyName(operationId), schema] as const),
  );
  // A body equal to an earlier one refers to it.
  const first = new Map<string, string>();
  return Object.fromEntries(
    bodies.map(([name, schema]) => {
      const text = JSON.stringify(schema);
      const known = first.get(text);
      first.set(text, known ?? name);
      return [name, known === undefined || known === name ? schema : refTo(known)];
    }),
  );
}

function isUnnamedJson({ mediaType, schema }: ApiContent): boolean {
  return mediaType.endsWith('json') && !('$ref' in schema);
}

function bodyName(operationId: string): string {
  return `${operationId}_body`;
}

function bodyContent({ operationId, requestBody }: ApiOperation): Schema {
  const named = (requestBody?.content ?? []).map((content) =>
    isUnnamedJson(content) ? { ...content, schema: refTo(bodyName(operationId)) } : content,
  );
  return contentOf(named);
}

/** A change may be repeated with a key, and tied to an `ETag` if it may answer 412. */
function headersOf(method: string, operation: ApiOperation): string[] {
  const { changesState, errors, isRepeatable } = operation;
  const changes = isRepeatable !== false && (changesState === true || method !== 'GET');
  return [...(changes ? ['idempotency_key'] : []), ...(errors.includes(412) ? ['if_match'] : [])];
}

function apiOperation(method: string, operation: ApiOperation, inPath: Schema[]): Schema {
  const { operationId, summary, description, tag, role, parameters = [], errors } = operation;
  const { requestBody, isOpen } = operation;
  const headers = headersOf(method, operation);
  const mayReplay = headers.includes('idempotency_key');
  const answers = operation.answers.map((answer) => [answer.status, answerOf(answer, mayReplay)]);
  return operationObject({
    operationId,
    summary,
    description,
    tag,
    role,
    isOpen,
    errors,
    parameters: [
      ...inPath,
      ...parameters.map((parameter) => ({ ...parameter })),
      ...headers.map(parameterRef),
    ],
    requestBody: requestBody && { ...requestBody, content: bodyContent(operation) },
    answers: Object.fromEntries(answers),
  });
}

function answerOf({ description, content }: ApiAnswer, mayReplay: boolean): Schema {
  const headers = mayReplay ? ['Idempotency-Replayed'] : [];
  return answerObject({
    description,
    headers,
    content: content && contentOf(content),
  });
}

function contentOf(content: ApiContent[]): Schema {
  return Object.fromEntries(
    content.map(({ mediaType, schema, example }) => [mediaType, { schema, example }]),
  );
}
