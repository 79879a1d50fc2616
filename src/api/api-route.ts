import type { ErrorRequestHandler, RequestHandler } from 'express';
import { methodNotAllowed } from '../errors.js';
import { refuseCrossSite } from '../http/requests/cross-site.js';
import { requireRole } from '../http/requests/request-context.js';
import type { Role } from '../jsonapi/context.js';
import { MEDIA_TYPE } from '../jsonapi/documents/document.js';
import type { Method } from '../jsonapi/operations/endpoints.js';
import { negotiateForm } from '../jsonapi/requests/negotiation.js';
import { RoutersBySegment } from '../jsonapi/routers-by-segment.js';

/** JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type Schema = Record<string, unknown>;

export interface ApiParameter {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: Schema;
}

/** A body or answer of one media type. `example` is shown as it is. */
export interface ApiContent {
  mediaType: string;
  schema: Schema;
  example?: unknown;
}

export interface ApiAnswer {
  status: number;
  description: string;
  /** None = an empty body. A `$ref` may name the document of a resource, `#/components/schemas/…`. */
  content?: ApiContent[];
}

/** A file of one of the media types. */
export function fileAnswer(description: string, ...mediaTypes: string[]): ApiAnswer {
  const schema = { type: 'string', contentMediaType: 'application/octet-stream' };
  const content = mediaTypes.map((mediaType) => ({ mediaType, schema }));
  return { status: 200, description, content };
}

const FILE = { type: 'string', format: 'binary' };

/** A form with one file, as multer reads it. */
export function fileForm(field: string): ApiContent {
  const schema = { type: 'object', properties: { [field]: FILE }, required: [field] };
  return { mediaType: 'multipart/form-data', schema };
}

/** A file as the body, of one of the media types. */
export function fileBodies(mediaTypes: string[]): ApiContent[] {
  return mediaTypes.map((mediaType) => ({ mediaType, schema: FILE }));
}

/** An operation that is not CRUD: its handlers and its description in the API document. */
export interface ApiOperation {
  /** Stable: client generators name their functions by it. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  role: Role;
  /** It needs no credentials, and no role. */
  isOpen?: boolean;
  /** False: it takes no Idempotency-Key. */
  isRepeatable?: boolean;
  /** A GET that changes something: HEAD gets 405, a link of another site's page 403. */
  changesState?: boolean;
  /** A `$ref` may name one that several operations share. */
  parameters?: (ApiParameter | Schema)[];
  requestBody?: { required: boolean; content: ApiContent[] } | undefined;
  answers: ApiAnswer[];
  /** Statuses of error documents beside 401, 403, 406 and 429. */
  errors: number[];
  handlers: RequestHandler[];
  /** Hears what the handlers throw, and of a role that does not suffice; passes it on. */
  onError?: ErrorRequestHandler | undefined;
}

/** A path below /api/v1 as the contract writes it, `{id}`s and all. */
export interface ApiRoute {
  /** Below this in place of /api/v1. */
  base?: string;
  path: string;
  /** Schemas of path parameters that are not ids. */
  pathSchemas?: Record<string, Schema>;
  methods: Partial<Record<Method, ApiOperation>>;
  /** The resource of this path lists itself there. */
  isBesideList?: boolean | undefined;
}

/** Serves the routes: role first, then the handlers; HEAD, OPTIONS and 405 follow from the table. */
export function mountRoutes(routes: ApiRoute[]): RequestHandler {
  const routers = new RoutersBySegment();
  for (const route of routes) {
    const path = route.path.replace(/\{(\w+)\}/g, ':$1');
    const router = routers.routerFor(path);
    for (const [method, operation] of Object.entries(route.methods)) {
      const verb = method.toLowerCase() as Lowercase<Method>;
      // Express answers HEAD by the handler of GET.
      if (operation.changesState) router.head(path, refuse(route));
      router[verb](
        path,
        requireRole(operation.role),
        ...(operation.changesState ? [refuseCrossSite] : []),
        ...negotiation(operation),
        ...operation.handlers,
        ...(operation.onError ? [operation.onError] : []),
      );
    }
    router.all(path, refuse(route));
  }
  return routers.combined();
}

/** Serves the open operations, which come before authentication; passes on everything else. */
export function mountOpenOperations(routes: ApiRoute[]): RequestHandler {
  const routers = new RoutersBySegment();
  for (const { path: given, methods } of routes) {
    const path = given.replace(/\{(\w+)\}/g, ':$1');
    for (const [method, operation] of Object.entries(methods)) {
      if (!operation.isOpen) continue;
      const verb = method.toLowerCase() as Lowercase<Method>;
      routers.routerFor(path)[verb](path, ...negotiation(operation), ...operation.handlers);
    }
  }
  const open = routers.combined();
  // A router would answer OPTIONS by itself, for these methods alone.
  return (req, res, next) => (req.method === 'OPTIONS' ? next() : open(req, res, next));
}

/** Files are sent whatever Accept says. */
function negotiation({ answers }: ApiOperation): RequestHandler[] {
  const isDocument = answers.some(({ content = [] }) =>
    content.some(({ mediaType }) => mediaType === MEDIA_TYPE),
  );
  return isDocument ? [acceptDocument] : [];
}

const acceptDocument: RequestHandler = (req, res, next) => {
  res.vary('Accept');
  negotiateForm(req.headers.accept);
  next();
};

function refuse(route: ApiRoute): RequestHandler {
  const headers = { Allow: allowedMethods(route) };
  return (req, res, next) => {
    if (route.isBesideList && (req.method === 'GET' || req.method === 'HEAD')) {
      next();
      return;
    }
    if (req.method === 'OPTIONS') {
      res.status(204).set(headers).end();
      return;
    }
    throw methodNotAllowed(req.method, headers.Allow);
  };
}

function allowedMethods({ methods, isBesideList }: ApiRoute): string {
  if (isBesideList) return ['GET', ...Object.keys(methods), 'HEAD', 'OPTIONS'].join(', ');
  const head = methods.GET && !methods.GET.changesState ? ['HEAD'] : [];
  return [...Object.keys(methods), ...head, 'OPTIONS'].join(', ');
}

/** The document of one resource of this type, where the API document describes it. */
export function itemSchema(type: string): Schema {
  return { $ref: `#/components/schemas/${type}_document` };
}

/** The document of several resources of this type. */
export function listSchema(type: string): Schema {
  return { $ref: `#/components/schemas/${type}_list` };
}

/** What a client may write of this type: its document, or the attributes alone. */
export function writeSchema(type: string): Schema {
  return { $ref: `#/components/schemas/${type}_write` };
}

/** A JSON:API document as the content of an answer. */
export function jsonApiContent(schema: Schema, example?: unknown): ApiContent {
  return { mediaType: MEDIA_TYPE, schema, example };
}

/** A body that is accepted under both media types. */
export function jsonContent(schema: Schema, example?: unknown): ApiContent[] {
  const content = jsonApiContent(schema, example);
  return [content, { ...content, mediaType: 'application/json' }];
}
