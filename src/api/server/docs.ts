import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RequestHandler } from 'express';
import { pageSecurityHeaders } from '../../http/requests/security-headers.js';
import type { Registry, ResourceDefinition } from '../../jsonapi/definition/definition.js';
import { entityTagOf, isKnown } from '../../jsonapi/documents/send.js';
import type { ApiOperation, ApiRoute } from '../api-route.js';
import { createApiDocument } from '../openapi/document.js';

export interface DocsDeps {
  registry: Registry;
  singletons: ResourceDefinition[];
  catalogues: ResourceDefinition[];
  /** All other routes that are not CRUD. */
  routes: ApiRoute[];
  basePath: string;
  /** Apple's request types, which commands accept. */
  requestTypes: string[];
  musterVersion: string;
}

/** The API document and a page to read it with, both described in the document themselves. */
export function docsRoutes(deps: DocsDeps): ApiRoute[] {
  const routes: ApiRoute[] = [
    { path: '/openapi.json', methods: { GET: documentOperation(() => document()) } },
    { path: '/docs', methods: { GET: pageOperation(deps) } },
    { path: '/docs/rapidoc-min.js', methods: { GET: scriptOperation() } },
  ];
  const document = once(() => {
    const all = [...deps.routes, ...routes];
    const text = JSON.stringify(createApiDocument({ ...deps, routes: all }));
    return asEntity(Buffer.from(text));
  });
  return routes;
}

interface Entity {
  bytes: Buffer;
  etag: string;
}

function asEntity(bytes: Buffer): Entity {
  return { bytes, etag: entityTagOf(createHash('sha256').update(bytes).digest()) };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Browsers ask again each time, and get 304 while it is the same. */
function entityHandler(mediaType: string, entity: () => Entity): RequestHandler {
  return (req, res) => {
    const { bytes, etag } = entity();
    res.setHeader('Content-Type', mediaType);
    res.setHeader('Cache-Control', 'private, no-cache');
    res.setHeader('ETag', etag);
    // Express leaves it alone where the client sends `Cache-Control: no-cache`, too.
    if (isKnown(req.headers['if-none-match'], etag)) res.status(304).end();
    else res.send(bytes);
  };
}

const COMMON: Pick<ApiOperation, 'tag' | 'role' | 'errors'> = {
  tag: 'documentation',
  role: 'viewer',
  errors: [],
};

function unchanged() {
  return { status: 304, description: 'It has not changed.' };
}

function documentOperation(document: () => Entity): ApiOperation {
  const schema = { type: 'object', required: ['openapi', 'paths'], additionalProperties: true };
  const content = [{ mediaType: 'application/json', schema }];
  return {
    ...COMMON,
    operationId: 'getApiDocument',
    summary: 'Get this description as OpenAPI 3.1',
    answers: [{ status: 200, description: 'The document.', content }, unchanged()],
    handlers: [entityHandler('application/json', document)],
  };
}

function pageOperation({ basePath }: DocsDeps): ApiOperation {
  const page = asEntity(Buffer.from(pageText(basePath)));
  const send = entityHandler('text/html; charset=utf-8', () => page);
  return {
    ...COMMON,
    operationId: 'getApiPage',
    summary: 'Read this description in a browser',
    description: 'Everything comes from this server. Log in with the token as the password.',
    answers: [
      {
        status: 200,
        description: 'The page.',
        content: [{ mediaType: 'text/html', schema: { type: 'string' } }],
      },
      unchanged(),
    ],
    // Whether the transport is secure has been said for all of the API.
    handlers: [pageSecurityHeaders({ https: false }), send],
  };
}

function scriptOperation(): ApiOperation {
  const script = once(() => asEntity(readFileSync(pageScript())));
  const send = entityHandler('text/javascript; charset=utf-8', script);
  return {
    ...COMMON,
    operationId: 'getApiPageScript',
    summary: 'Get the script of the page',
    answers: [
      {
        status: 200,
        description: 'The script.',
        content: [{ mediaType: 'text/javascript', schema: { type: 'string' } }],
      },
      unchanged(),
    ],
    handlers: [send],
  };
}

function pageText(basePath: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muster API</title>
<link rel="icon" href="data:,">
<script type="module" src="${basePath}/docs/rapidoc-min.js"></script>
</head>
<body>
<rapi-doc spec-url="${basePath}/openapi.json" render-style="focused" show-header="false"
  load-fonts="false" regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace"
  allow-spec-url-load="false" allow-spec-file-load="false" allow-server-selection="false"
  fill-request-fields-with-example="false" show-method-in-nav-bar="as-colored-text"
  schema-style="table" sort-tags="true"></rapi-doc>
</body>
</html>
`;
}

const NAME = 'rapidoc-min.js';

/**
 * Where the script of the page lies: the build has put it into `dist/static`; without a
 * build it is in its package.
 */
function pageScript(): string {
  const built = join(__dirname, '..', '..', '..', 'static', NAME);
  if (existsSync(built)) return built;
  return join(dirname(require.resolve('rapidoc/package.json')), 'dist', NAME);
}
