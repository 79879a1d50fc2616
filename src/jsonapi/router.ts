import type { Request, RequestHandler, Response } from 'express';
import { AppError, methodNotAllowed, notFound } from '../errors.js';
import { type AuditPartWriter, type AuditWriter, hasRole, type RequestContext } from './context.js';
import { createRegistry, type ResourceDefinition } from './definition/definition.js';
import { parseId } from './definition/values.js';
import { MEDIA_TYPE } from './documents/document.js';
import { sendAnswer } from './documents/send.js';
import { prefersCsv, sendExport } from './documents/send-export.js';
import type { ApiContext, ApiRequest, EffectCheck, LinkJobs } from './handler.js';
import { type Endpoint, type Method, type Route, routesOf } from './operations/endpoints.js';
import { readIdempotency } from './requests/idempotency.js';
import { checkContentType, negotiateForm, parseJson } from './requests/negotiation.js';
import { RoutersBySegment } from './routers-by-segment.js';
import type { Store } from './store.js';

export interface JsonApiOptions<S> {
  definitions: ResourceDefinition<S>[];
  store: Store;
  audit: AuditWriter;
  auditPart?: AuditPartWriter | undefined;
  services: S;
  effectCheck?: EffectCheck | undefined;
  linkJobs?: LinkJobs | undefined;
  /** The path that the router is mounted at; `/api/v1` by default. */
  basePath?: string | undefined;
}

/** The registry of the definitions, checked, and what else the operations need. */
export function buildApiContext<S>(options: JsonApiOptions<S>): ApiContext {
  const { store, audit, auditPart, services, effectCheck, linkJobs } = options;
  const { basePath = '/api/v1' } = options;
  const registry = createRegistry(options.definitions as ResourceDefinition[]);
  return { registry, store, audit, auditPart, services, effectCheck, linkJobs, basePath };
}

/**
 * All collections, items and relationships of the definitions. Requires `res.locals.context` (a
 * RequestContext); passes AppErrors and unknown paths on.
 */
export function createJsonApiRouter(api: ApiContext): RequestHandler {
  const routers = new RoutersBySegment();
  for (const route of routesOf(api.registry)) {
    const path = route.path.replace('{id}', ':id');
    routers.routerFor(path).all(path, (req, res) => answer(api, route, req, res));
  }
  return routers.combined();
}

async function answer(api: ApiContext, route: Route, req: Request, res: Response): Promise<void> {
  if (req.method === 'OPTIONS') {
    res.status(204).setHeader('Allow', allowed(route));
    res.end();
    return;
  }
  const endpoint = endpointOf(route, req.method);
  const context = res.locals.context as RequestContext;
  if (!hasRole(context.actor, endpoint.role)) {
    throw new AppError('forbidden', 403, `this needs the role ${endpoint.role}`);
  }
  res.vary('Accept');
  const form = negotiateForm(req.headers.accept);
  const body = endpoint.hasBody ? await readBody(req, res) : undefined;
  const { id, query, path } = target(api, req);
  const { ifMatch, idempotency } = conditions(req);
  const request: ApiRequest = { id, query, path, context, form, body, ifMatch, idempotency };
  if (isRead(req)) await read(api, endpoint, { req, res, request });
  else sendAnswer(req, res, await endpoint.handler(api, request));
}

interface Reading {
  req: Request;
  res: Response;
  request: ApiRequest;
}

/** A read is cancelled when its client disconnects; a write is not. */
async function read(
  api: ApiContext,
  { handler, exporter }: Endpoint,
  { req, res, request }: Reading,
): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  const cancel = () => controller.abort(new AppError('unavailable', 503, 'the client has left'));
  if (res.closed) cancel();
  res.once('close', cancel);
  try {
    if (exporter !== undefined && prefersCsv(req, MEDIA_TYPE)) {
      await sendExport(req, res, await exporter(api, { ...request, signal }));
    } else sendAnswer(req, res, await handler(api, { ...request, signal }));
  } catch (error) {
    if (signal.aborted) return;
    if (!res.headersSent) throw error;
    // A truncated body must not look complete.
    res.locals.failure = { reason: String(error) };
    res.destroy();
  } finally {
    res.removeListener('close', cancel);
  }
}

/** The conditions of a write. */
function conditions(req: Request): Pick<ApiRequest, 'ifMatch' | 'idempotency'> {
  if (isRead(req)) return {};
  return { ifMatch: req.headers['if-match'], idempotency: readIdempotency(req) };
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

function endpointOf(route: Route, method: string): Endpoint {
  const endpoint = route.methods[(method === 'HEAD' ? 'GET' : method) as Method];
  if (endpoint) return endpoint;
  throw methodNotAllowed(method, allowed(route));
}

function allowed({ methods }: Route): string {
  return [...Object.keys(methods), 'HEAD', 'OPTIONS'].join(', ');
}

function target({ basePath }: ApiContext, req: Request): Pick<ApiRequest, 'id' | 'query' | 'path'> {
  const query = queryOf(req.url);
  const idInPath = req.params.id;
  const id = idInPath === undefined ? 0 : parseId(idInPath);
  if (id === undefined) throw notFound(req.path);
  return { id, query, path: basePath + req.path.replace(/(.)\/$/, '$1') };
}

/** The query of a URL. Strict: URLSearchParams would replace invalid UTF-8 silently. */
export function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  const text = start < 0 ? '' : url.slice(start);
  try {
    decodeURIComponent(text);
  } catch {
    throw new AppError('invalid_parameter', 400, 'the query is not valid percent-encoding');
  }
  return new URLSearchParams(text);
}

async function readBody(req: Request, res: Response): Promise<unknown> {
  checkContentType(req.headers['content-type']);
  await new Promise<void>((resolve, reject) => {
    parseJson(req, res, (error?: unknown) => (error ? reject(error) : resolve()));
  });
  return req.body;
}
