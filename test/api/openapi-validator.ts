import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

type Json = Record<string, unknown>;

interface Content {
  schema: Json;
  example?: unknown;
  examples?: Record<string, { $ref: string }>;
}

interface Reference {
  $ref: string;
}

interface Answer {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, Content>;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  'x-role': string;
  parameters: Json[];
  requestBody?: { required: boolean; content: Record<string, Content> };
  responses: Record<string, Answer>;
}

export interface OpenApiDocument {
  openapi: string;
  info: { version: string; description: string };
  security: Record<string, string[]>[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Json>>;
}

/** One operation, without references to shared bodies and answers, and where it is. */
export interface PlacedOperation {
  /** As in the document: with /api/v1 and `{id}`. */
  path: string;
  method: string;
  operation: Operation;
}

export interface GivenAnswer {
  status: number;
  /** Of the Content-Type header, parameters and all; none where there is no body. */
  mediaType?: string | undefined;
  /** Parsed where it is JSON. */
  body?: unknown;
}

/** Compares answers with what the API document says of them. */
export interface OpenApiValidator {
  operations: PlacedOperation[];
  /** By operationId, or by method and path, whatever the names in its braces. */
  find(name: string): PlacedOperation;
  /** What is wrong with the answer; empty when it is as documented. */
  faultsOfAnswer(name: string, answer: GivenAnswer): string[];
  /** What is wrong with a body of this media type. */
  faultsOfBody(name: string, body: unknown, mediaType?: string): string[];
  /** By the pointer of a schema, `#/components/…`. */
  faultsOf(pointer: string, value: unknown): string[];
  /** Follows a reference once, where there is one. */
  resolve<T>(value: T | Reference): T;
}

const JSON_API = 'application/vnd.api+json';

/** Fails on members that the document does not name, wherever it says that there are no others. */
export function createOpenApiValidator(document: OpenApiDocument): OpenApiValidator {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  addFormats(ajv);
  ajv.addSchema(document, 'api');
  const compiled = new Map<string, ValidateFunction>();
  const operations = operationsOf(document);

  function faultsOf(pointer: string, value: unknown): string[] {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `api${pointer}` });
    compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }

  function find(name: string): PlacedOperation {
    const wanted = bare(name);
    const found = operations.find(
      ({ method, path, operation }) =>
        operation.operationId === name || bare(`${method} ${path}`) === wanted,
    );
    if (!found) throw new Error(`${name} is not in the API document`);
    return found;
  }

  function resolve<T>(value: T | Reference): T {
    return isReference(value) ? (partOf(document, value.$ref) as T) : value;
  }

  function faultsOfAnswer(name: string, answer: GivenAnswer): string[] {
    const { path, method, operation } = find(name);
    const { responses } = operation;
    // `default` stands for the errors that any operation may answer, and its schema names them.
    const status = answer.status in responses || answer.status < 400 ? answer.status : 'default';
    const given = responses[status];
    if (!given) return [`${operation.operationId} does not answer ${answer.status}`];
    const at = placeOf(path, method, 'responses', status);
    const { content } = given;
    const mediaType = answer.mediaType?.split(';', 1)[0];
    if (content === undefined) return mediaType === undefined ? [] : ['there should be no body'];
    const described = content[mediaType ?? ''];
    if (!described) return [`${operation.operationId} does not answer ${mediaType}`];
    return [
      ...faultsOf(`${at}/content/${stepOf(mediaType ?? '')}/schema`, answer.body),
      ...faultsOfIncluded(answer.body),
    ];
  }

  /** The pointer of a part of an operation, or of the shared part that it refers to. */
  function placeOf(path: string, method: string, ...steps: (string | number)[]): string {
    const at = pointerTo(path, method, ...steps);
    const part = partOf(document, at);
    return isReference(part) ? part.$ref : at;
  }

  /** The document says of them only what all types have in common. */
  function faultsOfIncluded(body: unknown): string[] {
    const { included = [] } = (body ?? {}) as { included?: { type: string }[] };
    return included.flatMap((resource) =>
      faultsOf(`#/components/schemas/${resource.type}_resource`, resource),
    );
  }

  function faultsOfBody(name: string, body: unknown, mediaType = JSON_API): string[] {
    const { path, method, operation } = find(name);
    if (!operation.requestBody?.content[mediaType]) return [`it does not take ${mediaType}`];
    const at = placeOf(path, method, 'requestBody');
    return faultsOf(`${at}/content/${stepOf(mediaType)}/schema`, body);
  }

  return { operations, find, faultsOfAnswer, faultsOfBody, faultsOf, resolve };
}

function operationsOf(document: OpenApiDocument): PlacedOperation[] {
  const resolved = <T>(part: T): T =>
    isReference(part) ? (partOf(document, part.$ref) as T) : part;
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const { requestBody } = operation;
      const answers = Object.entries(operation.responses);
      const responses = Object.fromEntries(
        answers.map(([status, answer]) => [status, resolved(answer)]),
      );
      const body = requestBody === undefined ? {} : { requestBody: resolved(requestBody) };
      return {
        path,
        method: method.toUpperCase(),
        operation: { ...operation, ...body, responses },
      };
    }),
  );
}

function isReference(value: unknown): value is Reference {
  return typeof value === 'object' && value !== null && '$ref' in value;
}

/** Without the names of path parameters and the slash at the end. */
function bare(name: string): string {
  return name.replace(/\{\w+\}/g, '{}').replace(/\/$/, '');
}

function stepOf(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function pointerTo(path: string, method: string, ...steps: (string | number)[]): string {
  return ['#/paths', path, method.toLowerCase(), ...steps.map(String)]
    .map((step, index) => (index === 0 ? step : stepOf(step)))
    .join('/');
}

function partOf(document: unknown, reference: string): unknown {
  const steps = reference.replace('#/', '').split('/');
  let part = document;
  for (const step of steps) {
    part = (part as Json)[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return part;
}
