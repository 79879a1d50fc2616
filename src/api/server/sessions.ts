import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { OpenedSession, Sessions } from '../../auth/sessions.js';
import type { TokenAttempts } from '../../auth/token-attempts.js';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { AppError, notFound } from '../../errors.js';
import { refuseOtherPages } from '../../http/requests/cross-site.js';
import { contextOf, setActor, sourceAddressOf } from '../../http/requests/request-context.js';
import type { SessionCookie } from '../../http/requests/session-cookie.js';
import type { Actor } from '../../jsonapi/context.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { type ActionBody, bodyContent, readBody } from '../action-body.js';
import { type ApiOperation, type ApiRoute, itemSchema, jsonApiContent } from '../api-route.js';
import { pathId, refuseParameters, requiredJsonBody } from '../request-parts.js';

export interface SessionRouteDeps {
  api: ApiContext;
  db: Database;
  publicUrl: string;
  sessions: Pick<Sessions, 'begin' | 'end' | 'forget' | 'spendLink'>;
  sessionCookie: SessionCookie;
  tokenAttempts: Pick<TokenAttempts, 'actorOf' | 'refuse'>;
}

const TYPE = 'sessions';
const MAX_AGENT_LENGTH = 300;

const SECRET = z.string().min(1).max(1_000).optional();

const BODY = z
  .strictObject({
    token: SECRET.describe('An API token.'),
    link_secret: SECRET.describe('What follows `#` in a link of `muster link console`; once.'),
  })
  .refine(({ token, link_secret }) => (token === undefined) !== (link_secret === undefined), {
    error: 'must have either token or link_secret',
  });

const SIGN_IN: ActionBody<z.infer<typeof BODY>> = {
  attributes: BODY,
  type: TYPE,
  isRequired: true,
  needsAttributes: true,
  example: { token: 'mst_…' },
};

/** Sign in with a browser, and out. The lists are those of the resource. */
export function sessionRoutes(deps: SessionRouteDeps): ApiRoute[] {
  return [
    { path: `/${TYPE}`, isBesideList: true, methods: { POST: signInOperation(deps) } },
    { path: `/${TYPE}/{id}`, isBesideList: true, methods: { DELETE: endOperation(deps) } },
  ];
}

function signInOperation(deps: SessionRouteDeps): ApiOperation {
  return {
    operationId: 'createSession',
    tag: TYPE,
    role: 'viewer',
    isOpen: true,
    isRepeatable: false,
    summary: 'Sign in',
    description:
      'Exchanges an API token, or the secret of a sign-in link, for the cookie of a session.',
    requestBody: { required: true, content: bodyContent(SIGN_IN) },
    answers: [
      {
        status: 201,
        description: 'The session, with its cookie.',
        content: [jsonApiContent(itemSchema(TYPE))],
      },
    ],
    errors: [400, 413, 415, 422],
    handlers: [
      refuseParameters,
      refuseOtherPages(deps),
      refuseLostCookie(deps),
      ...requiredJsonBody,
      signIn(deps),
    ],
  };
}

/** Otherwise a person would sign in, and at once be signed out again. */
function refuseLostCookie({ sessionCookie, publicUrl }: SessionRouteDeps): RequestHandler {
  return (req, _res, next) => {
    if (sessionCookie.isKept(req)) return next();
    const message = `the cookie of a session goes over https only: open ${publicUrl}`;
    throw new AppError('forbidden', 403, message);
  };
}

function signIn(deps: SessionRouteDeps): RequestHandler {
  const { api, db, sessions, sessionCookie } = deps;
  return async (req, res) => {
    const { value } = readBody(SIGN_IN, req.body);
    const find = await credentialsOf(req, res, { deps, body: value });
    const { opened, document } = await inTransaction(db, async (trx) => {
      const { actor, details } = await find(trx);
      const begun = await sessions.begin(trx, { ...browserOf(req, res, deps), actor });
      setActor(res, begun.actor);
      const context = contextOf(res);
      await writeSessionEvent(api, trx, { context, action: 'create', id: begun.id, details });
      const shown = await resourcesDocument(api, TYPE, { ids: begun.id, trx, context });
      return { opened: begun, document: shown };
    });
    sessions.forget();
    sessionCookie.set(req, res, opened);
    sendAnswer(req, res, { status: 201, document, location: pathOf(api, opened) });
  };
}

interface Credentials {
  actor: Actor;
  /** For the audit trail. */
  details: Record<string, unknown>;
}

/** A token is verified before the transaction, a link is spent in it. */
async function credentialsOf(
  req: Request,
  res: Response,
  { deps, body }: { deps: SessionRouteDeps; body: z.infer<typeof BODY> },
): Promise<(trx: Transaction) => Promise<Credentials>> {
  const { sessions, tokenAttempts } = deps;
  const { token, link_secret: secret = '' } = body;
  if (token !== undefined) {
    const actor = await tokenAttempts.actorOf(token, req, res);
    return async () => ({ actor, details: {} });
  }
  return async (trx) => {
    const { actor, linkId } = await sessions.spendLink(trx, secret).catch((error: unknown) => {
      const isRefused = error instanceof AppError && error.status === 401;
      throw isRefused ? tokenAttempts.refuse(res, error) : error;
    });
    return { actor, details: { sign_in_link_id: linkId } };
  };
}

function pathOf({ basePath }: ApiContext, { id }: OpenedSession): string {
  return `${basePath}/${TYPE}/${id}`;
}

function browserOf(req: Request, res: Response, { sessionCookie }: SessionRouteDeps) {
  return {
    userAgent: req.get('user-agent')?.slice(0, MAX_AGENT_LENGTH) ?? null,
    ipAddress: sourceAddressOf(res),
    former: sessionCookie.read(req),
  };
}

function endOperation({ api, sessions, sessionCookie }: SessionRouteDeps): ApiOperation {
  return {
    operationId: 'deleteSession',
    tag: TYPE,
    role: 'viewer',
    summary: 'Sign out',
    description: 'Ends a session of the own token, or any one for an admin.',
    answers: [{ status: 204, description: 'It has ended.' }],
    errors: [400, 404],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const id = pathId(req, 'id', TYPE);
        const context = contextOf(res);
        const work = async (trx: Transaction) => {
          const isEnded = await sessions.end(trx, id, context.actor);
          if (!isEnded) throw notFound(`${TYPE} ${id}`);
          await writeSessionEvent(api, trx, { context, action: 'delete', id });
          return { status: 204 };
        };
        const idempotency = readIdempotency(req);
        const answer = await performWrite(api.store, { context, idempotency, work });
        sessions.forget();
        if (context.actor.session?.id === id) sessionCookie.clear(req, res);
        sendAnswer(req, res, answer);
      },
    ],
  };
}

interface SessionEvent {
  context: ReturnType<typeof contextOf>;
  action: 'create' | 'delete';
  id: number;
  details?: Record<string, unknown>;
}

function writeSessionEvent(
  api: ApiContext,
  trx: Transaction,
  { context, action, id, details = {} }: SessionEvent,
): Promise<void> {
  return api.audit(trx, {
    context,
    action: `${TYPE}.${action}`,
    targetType: TYPE,
    targetId: id,
    outcome: 'success',
    details,
  });
}
