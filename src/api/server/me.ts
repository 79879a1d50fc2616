import { z } from 'zod';
import { contextOf } from '../../http/requests/request-context.js';
import { hasRole, ROLES, type Role } from '../../jsonapi/context.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { operationRoles } from '../openapi/document.js';
import { refuseParameters } from '../request-parts.js';

export interface MeRouteDeps {
  api: ApiContext;
}

const PATH = '/me';

const ME = {
  type: 'me',
  onlyId: 1,
  attributes: z.strictObject({
    name: z.string().describe('Name of the API token.'),
    role: z.enum(ROLES).describe('Role of the token.'),
    rights: z
      .array(z.string())
      .describe('Each `operationId` that the role may call, without reads of linkage.'),
    authenticated_at: z
      .string()
      .meta({ format: 'date-time' })
      .nullable()
      .describe('When the session signed in.'),
    session_id: z.int().nullable().describe('null: the token itself was sent.'),
  }),
};

/** The caller. `routes`: all other routes that are not CRUD. */
export function meRoutes({ api }: MeRouteDeps, routes: ApiRoute[]): ApiRoute[] {
  const rights = new Map<Role, string[]>();
  const rightsOf = (role: Role) => {
    const found = rights.get(role) ?? findRights(role);
    rights.set(role, found);
    return found;
  };
  const findRights = (role: Role) =>
    operationRoles({ registry: api.registry, routes: [...routes, ...own], basePath: api.basePath })
      .filter((operation) => hasRole({ name: '', role }, operation.role))
      .map(({ operationId }) => operationId);
  const GET: ApiOperation = {
    operationId: 'getMe',
    tag: 'sessions',
    role: 'viewer',
    summary: 'Get who you are',
    answers: [
      {
        status: 200,
        description: 'The token, and the session.',
        content: [jsonApiContent(ownDocumentSchema(ME))],
      },
    ],
    errors: [400],
    handlers: [
      refuseParameters,
      (req, res) => {
        const { name, role, session } = contextOf(res).actor;
        const attributes = {
          name,
          role,
          rights: rightsOf(role),
          authenticated_at: session ? formatTimestamp(session.authenticatedAt) : null,
          session_id: session?.id ?? null,
        };
        const document = ownDocument(ME, { id: 1, attributes, self: api.basePath + PATH });
        sendAnswer(req, res, { status: 200, document });
      },
    ],
  };
  const own: ApiRoute[] = [{ path: PATH, methods: { GET } }];
  return own;
}
