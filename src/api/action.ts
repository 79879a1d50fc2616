import type { Request, Response } from 'express';
import type { Transaction } from '../db/connection/unit-of-work.js';
import type { ErrorCode } from '../errors.js';
import { contextOf } from '../http/requests/request-context.js';
import type { AuditValues, RequestContext, Role } from '../jsonapi/context.js';
import { type Document, JSONAPI } from '../jsonapi/documents/document.js';
import { sendAnswer } from '../jsonapi/documents/send.js';
import type { Answer, ApiContext } from '../jsonapi/handler.js';
import { resourcesDocument } from '../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../jsonapi/requests/idempotency.js';
import { inFlatBody } from '../jsonapi/requests/pointers.js';
import { requireRecentSignIn } from '../jsonapi/requests/recent-sign-in.js';
import { type ActionBody, bodyContent, readBody } from './action-body.js';
import {
  type MetaDocument,
  metaDocumentSchema,
  type OwnDocument,
  ownDocument,
  ownDocumentSchema,
} from './action-document.js';
import {
  type ActionFlag,
  actionParameters,
  confirmationOf,
  readFlags,
} from './action-parameters.js';
import {
  type ApiOperation,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  listSchema,
  type Schema,
} from './api-route.js';
import { auditRefusals } from './audit-refusals.js';
import { jsonBody, pathId, refuseOthers, requiredJsonBody } from './request-parts.js';

/** What the rule of an action reads. */
export interface ActionRequest<Body, Flag extends string> {
  /** The `{id}` of the path; 0 where the path has none. */
  id: number;
  /** Another id of the path. AppError 404 naming `type` if it is not an id. */
  pathId(name: string, type: string): number;
  body: Body;
  flags: Record<Flag, boolean>;
  /** Number of devices that the client has confirmed, for an action that `confirms`. */
  confirm: number | undefined;
  context: RequestContext;
}

/** A type of resources, a document of the action's own, or one of `meta` alone. */
type Shows = string | { listOf: string } | OwnDocument | MetaDocument;

/** What the rule of an action has done: for the audit trail, and for the answer. */
export interface ActionResult {
  /** Target id of the audit event, if it is not the `{id}` of the path. */
  targetId?: number | null;
  /** For the audit trail; read from the answer where it names what the answer shows. */
  details?: Record<string, unknown> | ((document: Document) => Record<string, unknown>);
  /** Ids of the resources to show, if it is not the `{id}` of the path; an array makes a list. */
  ids?: number | number[];
  /** Attributes of the action's own document. */
  attributes?: Record<string, unknown>;
  meta?: Record<string, unknown>;
  location?: string;
  /** The answer shows `orShows`. */
  isOther?: true;
  /** Instead of the answer: 200 with this `meta` alone, for a request that changed nothing. */
  preview?: Record<string, unknown>;
  afterCommit?: (() => Promise<void>) | undefined;
}

export interface Action<Body, Flag extends string, Prepared> {
  /** `GET, POST`: the contract's GET, and a POST for those who keep GET free of consequences. */
  method: 'POST' | 'GET, POST';
  /** Below /api/v1, as the contract writes it, `{id}`s and all. */
  path: string;
  /** The path is that of a collection which its resource lists. */
  isBesideList?: true;
  /** Stable: client generators name their functions by it. */
  operationId: string;
  tag: string;
  role: Role;
  summary: string;
  description: string;
  body?: ActionBody<Body>;
  flags?: Record<Flag, ActionFlag>;
  /** What it does cannot be undone, or shows a secret: a session must have signed in recently. */
  needsRecentSignIn?: true;
  /** It takes `meta.confirm` of a document, or `?confirm=N`. */
  confirms?: true;
  /** What `preview` of a result has. */
  previews?: MetaDocument & { description: string };
  answer: {
    status: 200 | 201 | 202;
    description: string;
    shows: Shows;
    /** A type of resources that some requests are answered with instead. */
    orShows?: string;
  };
  /** Statuses of error documents beside 401, 403, 406 and 429. */
  errors?: number[];
  /**
   * `refusals`: refused calls are audited too; its codes name further refusals to audit. Without an
   * `action` nothing is audited: for what changes nothing.
   */
  audit:
    | { action: string; targetType: string; refusals?: readonly ErrorCode[] }
    | { action: null; targetType: string };
  /** False: the answer is not stored, so a repeated Idempotency-Key runs the action again. */
  storesAnswer?: false;
  /** Runs before the transaction, for what must not hold one open. */
  prepare?(request: ActionRequest<Body, Flag>): Promise<Prepared>;
  /** The rule. Runs in one transaction with its audit event; what it throws rolls both back. */
  run(
    trx: Transaction,
    request: ActionRequest<Body, Flag> & { prepared: Prepared },
  ): Promise<ActionResult>;
}

const ERRORS = [400, 404, 409, 413, 415, 422];

/**
 * Declares a write that is not CRUD in one place: checks of parameters and body, role,
 * transaction, audit event, idempotency, answer and its OpenAPI operation follow from it.
 */
export function action<Body = unknown, Flag extends string = never, Prepared = undefined>(
  api: ApiContext,
  declared: Action<Body, Flag, Prepared>,
): ApiRoute {
  const { method, path, operationId, body, audit, previews } = declared;
  const parameters = actionParameters(declared);
  const POST: ApiOperation = {
    operationId,
    tag: declared.tag,
    role: declared.role,
    summary: declared.summary,
    description: declared.description,
    parameters,
    requestBody: body && { required: body.isRequired === true, content: bodyContent(body) },
    answers: [
      describeAnswer(declared.answer),
      ...(previews ? [describeAnswer({ status: 200, shows: previews, ...previews })] : []),
    ],
    errors: declared.errors ?? ERRORS,
    handlers: [
      (req, _res, next) => {
        refuseOthers(
          req,
          parameters.map(({ name }) => name),
        );
        next();
      },
      ...(body?.isRequired ? requiredJsonBody : jsonBody),
      (req, res) => perform(api, declared, { req, res }),
    ],
    onError: refusalsOf(api, audit),
  };
  const { isBesideList } = declared;
  if (method === 'POST') return { path, methods: { POST }, isBesideList };
  const GET = { ...POST, operationId: `${operationId}ByGet`, changesState: true };
  return { path, methods: { GET, POST } };
}

function refusalsOf(api: ApiContext, audit: Action<never, never, never>['audit']) {
  if (audit.action === null || audit.refusals === undefined) return undefined;
  return auditRefusals(api, { ...audit, codes: audit.refusals });
}

function describeAnswer(answer: Action<never, never, never>['answer']) {
  const { status, description, shows, orShows } = answer;
  const schema = schemaOf(shows);
  const shown = orShows === undefined ? schema : { oneOf: [schema, itemSchema(orShows)] };
  return { status, description, content: [jsonApiContent(shown)] };
}

function schemaOf(shows: Shows): Schema {
  if (typeof shows === 'string') return itemSchema(shows);
  if ('meta' in shows) return metaDocumentSchema(shows);
  return 'listOf' in shows ? listSchema(shows.listOf) : ownDocumentSchema(shows);
}

async function perform<Body, Flag extends string, Prepared>(
  api: ApiContext,
  declared: Action<Body, Flag, Prepared>,
  { req, res }: { req: Request; res: Response },
): Promise<void> {
  const context = contextOf(res);
  const flags = readFlags(declared.flags, req, context);
  const idempotency = declared.storesAnswer === false ? undefined : readIdempotency(req);
  const { targetType } = declared.audit;
  const id = declared.path.includes('{id}') ? pathId(req, 'id', targetType) : 0;
  const { confirm, given } = confirmationOf(declared, req);
  if (confirm !== undefined || declared.needsRecentSignIn) requireRecentSignIn(context.actor);
  const { value: body, isFlat } = readBody(declared.body, given);
  const byName = (name: string, type: string) => pathId(req, name, type);
  const request = { id, pathId: byName, body, flags, confirm, context };
  const located = (error: unknown) => {
    throw isFlat ? inFlatBody(error) : error;
  };
  const prepared = (await declared.prepare?.(request).catch(located)) as Prepared;
  let afterCommit: ActionResult['afterCommit'];
  const work = async (trx: Transaction): Promise<Answer> => {
    const result = await declared.run(trx, { ...request, prepared }).catch(located);
    afterCommit = result.afterCommit;
    if (result.preview !== undefined) return previewAnswer(api, req, result.preview);
    const { shows, orShows = shows } = declared.answer;
    const shown = result.isOther ? orShows : shows;
    const document = await documentOf(api, shown, { trx, req, request, result });
    await writeEvent(api, trx, { declared, request, result, document });
    const { location } = result;
    const answer = { status: declared.answer.status, document };
    return location === undefined ? answer : { ...answer, location };
  };
  const answer = await performWrite(api.store, { context, idempotency, work });
  await afterCommit?.();
  sendAnswer(req, res, answer);
}

function previewAnswer(
  { basePath }: ApiContext,
  req: Request,
  meta: Record<string, unknown>,
): Answer {
  const self = basePath + req.path.replace(/\/$/, '');
  return { status: 200, document: { meta, links: { self }, jsonapi: JSONAPI } };
}

interface Shown {
  trx: Transaction;
  req: Request;
  request: { id: number; context: RequestContext };
  result: ActionResult;
}

async function documentOf(
  api: ApiContext,
  shows: Shows,
  { trx, req, request, result }: Shown,
): Promise<Document> {
  const { ids = request.id, attributes = {}, meta } = result;
  const self = api.basePath + req.path.replace(/\/$/, '');
  if (typeof shows !== 'string' && 'meta' in shows) {
    return { meta: meta ?? {}, links: { self }, jsonapi: JSONAPI };
  }
  if (typeof shows !== 'string' && !('listOf' in shows)) {
    return ownDocument(shows, { id: shows.onlyId ?? Number(ids), attributes, self });
  }
  const type = typeof shows === 'string' ? shows : shows.listOf;
  const { context } = request;
  const document = await resourcesDocument(api, type, { ids, trx, context });
  return meta === undefined ? document : { ...document, meta: { ...document.meta, ...meta } };
}

async function writeEvent<Body, Flag extends string, Prepared>(
  api: ApiContext,
  trx: Transaction,
  done: {
    declared: Action<Body, Flag, Prepared>;
    request: { id: number; context: RequestContext };
    result: ActionResult;
    document: Document;
  },
): Promise<void> {
  const { declared, request, result, document } = done;
  const { action: name, targetType } = declared.audit;
  if (name === null) return;
  const { details = {}, targetId = request.id } = result;
  const values: AuditValues = {
    details: typeof details === 'function' ? details(document) : details,
  };
  const { context } = request;
  await api.audit(trx, {
    ...values,
    context,
    action: name,
    targetType,
    targetId,
    outcome: 'success',
  });
}
