import type { Role } from '../../jsonapi/context.js';
import type { Registry, ResourceDefinition } from '../../jsonapi/definition/definition.js';
import { type Route, routesOf } from '../../jsonapi/operations/endpoints.js';
import type { ApiRoute, Schema } from '../api-route.js';
import { linkageExamples, resourceExamples } from './examples/examples.js';
import { apiBodySchemas, apiPathItem } from './operations/api-operations.js';
import { crudPathItem } from './operations/crud-operations.js';
import { commonParameters, resourceParameters } from './operations/parameters.js';
import { subjectOf } from './operations/route-subject.js';
import { bodySchemas, singletonSchemas } from './schemas/body-schemas.js';
import { commonSchemas } from './schemas/common-schemas.js';
import { errorResponses, errorSchemas } from './schemas/error-responses.js';
import { linkageSchemas } from './schemas/linkage-schemas.js';
import { catalogueSchemas, resourceSchemas } from './schemas/resource-schemas.js';
import { sharedAnswers, sharedBodies } from './schemas/shared-parts.js';
import { introduction, tagObjects } from './texts/texts.js';

export interface ApiDocumentSources {
  registry: Registry;
  /** Types with one resource, served by separate routes. */
  singletons: ResourceDefinition[];
  /** Types whose resources are in memory, with names as ids. */
  catalogues: ResourceDefinition[];
  /** Routes that are not CRUD. */
  routes: ApiRoute[];
  musterVersion: string;
  /** Apple's request types, which commands accept. */
  requestTypes: string[];
  /** Prefix of every path, without a trailing slash. */
  basePath: string;
}

export interface ApiDocument extends Schema {
  openapi: string;
  paths: Record<string, Record<string, Schema>>;
  components: Record<string, Record<string, Schema>>;
}

/** An action may be served beside the list of its resource. */
function mergedPaths(items: [path: string, item: Schema][]): Record<string, Schema> {
  const paths: Record<string, Schema> = {};
  for (const [path, item] of items) {
    const known = paths[path] ?? {};
    const twice = Object.keys(item).find((name) => name !== 'parameters' && name in known);
    if (twice !== undefined) throw new Error(`${twice} of ${path} is served twice`);
    paths[path] = { ...known, ...item };
  }
  return paths;
}

/** The Path Item Objects of all that admins call, by path. */
function pathItems(
  crud: Route[],
  { registry, routes, basePath }: Pick<ApiDocumentSources, 'registry' | 'routes' | 'basePath'>,
): [path: string, item: Schema][] {
  const items: [path: string, item: Schema][] = [
    ...crud.map((route): [string, Schema] => [
      basePath + route.path,
      crudPathItem(route, registry),
    ]),
    ...routes.map((route): [string, Schema] => [
      (route.base ?? basePath) + route.path,
      apiPathItem(route),
    ]),
  ];
  return items.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The name of each operation, and the role that it needs; without reads of linkage alone. */
export function operationRoles(
  sources: Pick<ApiDocumentSources, 'registry' | 'routes' | 'basePath'>,
): { operationId: string; role: Role }[] {
  const items = pathItems(routesOf(sources.registry), sources).map(([path, item]) => {
    const { get, ...writes } = item;
    return [path, path.includes('/relationships/') ? writes : item] as [string, Schema];
  });
  return operationsOf(items).map((operation) => ({
    operationId: String(operation.operationId),
    role: operation['x-role'] as Role,
  }));
}

/** OpenAPI 3.1 of all that admins call. Throws Error when two operations share a name or path. */
export function createApiDocument(sources: ApiDocumentSources): ApiDocument {
  const { registry, musterVersion } = sources;
  const crud = routesOf(registry);
  const items = pathItems(crud, sources);
  const paths = mergedPaths(items);
  checkNames(items);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version: musterVersion,
      summary: "Self-hosted server that manages Apple devices over Apple's MDM protocol",
      description: introduction(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/', description: 'This server' }],
    security: [{ bearer: [] }, { basic: [] }, { session: [] }],
    tags: tagObjects(operationsOf(items).flatMap(({ tags }) => tags as string[])),
    paths: paths as ApiDocument['paths'],
    components: components(sources, crud),
  };
}

function operationsOf(items: [string, Schema][]): Schema[] {
  return items.flatMap(([, item]) => Object.values(item) as Schema[]);
}

function checkNames(items: [string, Schema][]): void {
  const seen = new Set<unknown>();
  for (const { operationId } of operationsOf(items)) {
    if (seen.has(operationId)) throw new Error(`two operations are named ${String(operationId)}`);
    seen.add(operationId);
  }
}

function components(
  { registry, singletons, catalogues, routes, basePath, requestTypes }: ApiDocumentSources,
  crud: Route[],
): ApiDocument['components'] {
  const definitions = [...registry.values()];
  const merged = (part: (definition: ResourceDefinition) => Record<string, Schema>) =>
    Object.assign({}, ...definitions.map(part)) as Record<string, Schema>;
  const fixed = fixedByPaths(crud, registry);
  const written = (definition: ResourceDefinition) =>
    bodySchemas(withRequestTypes(definition, requestTypes), fixed.get(definition.type) ?? []);
  return {
    schemas: {
      ...commonSchemas(registry),
      ...errorSchemas(),
      ...merged(resourceSchemas),
      ...merged(written),
      ...linkageSchemas(registry),
      ...Object.assign({}, ...singletons.map(singletonSchemas)),
      ...Object.assign({}, ...catalogues.map(catalogueSchemas)),
      ...apiBodySchemas(routes),
    },
    parameters: {
      ...commonParameters(registry),
      ...merged((definition) => resourceParameters(definition, registry)),
      ...Object.assign({}, ...catalogues.map((each) => resourceParameters(each, registry))),
    },
    examples: {
      ...merged((definition) => resourceExamples(definition, basePath)),
      ...linkageExamples(registry, basePath),
    },
    responses: { ...sharedAnswers(registry), ...errorResponses() },
    requestBodies: sharedBodies(registry, fixed),
    headers: HEADERS,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'A token of this server.' },
      basic: {
        type: 'http',
        scheme: 'basic',
        description: 'Any name, with the token as the password.',
      },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: '__Host-muster',
        description:
          'Of a browser that has signed in; `muster_session_PORT` over http. A change also needs the ' +
          'header `X-Muster-Console: 1`.',
      },
    },
  };
}

/** Commands accept Apple's request types only, though older rows may show others. */
function withRequestTypes(definition: ResourceDefinition, accepts: string[]): ResourceDefinition {
  const { request_type } = definition.attributes;
  if (definition.type !== 'commands' || request_type === undefined) return definition;
  const attributes = { ...definition.attributes, request_type: { ...request_type, accepts } };
  return { ...definition, attributes };
}

/** For each type what the paths of its collections say themselves of what is created there. */
function fixedByPaths(crud: Route[], registry: Registry): Map<string, string[]> {
  const fixed = new Map<string, string[]>();
  for (const { path, methods } of crud) {
    const subject = subjectOf(path, registry);
    if (subject.kind !== 'collection' || methods.POST === undefined) continue;
    const name = subject.parent?.fixes ?? subject.view?.attribute;
    const { type } = subject.definition;
    const known = fixed.get(type) ?? [];
    if (name !== undefined && !known.includes(name)) fixed.set(type, [...known, name]);
  }
  return fixed;
}

const HEADERS: Record<string, Schema> = {
  'X-Request-Id': {
    description: "The caller's id where it sent one, else a new one.",
    schema: { type: 'string' },
  },
  Location: { description: 'Path of what was created.', schema: { type: 'string' } },
  ETag: {
    description:
      'Version of the resource, for `If-Match`, quotes and all. Weak: it is the same for the ' +
      'compressed document.',
    schema: { type: 'string', pattern: '^W/"' },
  },
  'Idempotency-Replayed': {
    description: '`true` where this is the first answer to the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  'WWW-Authenticate': { description: 'Bearer and Basic.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
};
