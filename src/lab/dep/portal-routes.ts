import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { ControlFault, readBody, readBytes, sendFault, sendJson } from '../wire/control-http.js';
import type { DepControl } from './dep-control.js';
import { FAMILIES, listedDevice } from './dep-device.js';
import { PORTAL_HELP } from './portal-calls.js';

const MAX_BODY = 4 * 1024 * 1024;

const MAX_LISTED = 1_000;

const serials = z.array(z.string().regex(/^[A-Z0-9]{1,32}$/i)).max(100_000);

const newDevices = z.strictObject({
  family: z.enum(FAMILIES).optional(),
  count: z.int().min(1).max(200_000).optional(),
  serial_numbers: serials.optional(),
});

const goneDevices = z.strictObject({ serial_numbers: serials });

const faultBody = z.strictObject({
  path: z.string().startsWith('/').optional(),
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).optional(),
  status: z.int().min(400).max(599).optional(),
  body: z.string().max(1_000).optional(),
  retry_after: z.int().min(0).optional(),
  delay_ms: z.int().min(0).max(600_000).optional(),
  drop: z.boolean().optional(),
  obeyed: z.boolean().optional(),
  result: z.string().max(100).optional(),
  serial_numbers: serials.optional(),
  after: z.int().min(0).optional(),
  times: z.int().min(1).optional(),
});

const expiredSessions = z.strictObject({ status: z.union([z.literal(401), z.literal(403)]) });

const termsBody = z.strictObject({ signed: z.boolean() });

const tokenQuery = z.object({
  server: z.string().optional(),
  expires_in: z.coerce.number().int().optional(),
  cipher: z.enum(['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc']).optional(),
});

interface PortalRequest {
  control: DepControl;
  request: IncomingMessage;
  response: ServerResponse;
  query: Record<string, string>;
}

type Route = (call: PortalRequest) => Promise<void> | void;

const issueToken: Route = async ({ control, request, response, query }) => {
  const { data, error } = tokenQuery.safeParse(query);
  if (data === undefined) throw new ControlFault(400, z.prettifyError(error as z.ZodError));
  const certificate = await readBytes(request, MAX_BODY);
  const { server, expires_in: expiresIn, cipher: algorithm } = data;
  const file = control.portal.issueTokenFile(certificate, { server, expiresIn, algorithm });
  response.writeHead(200, {
    'Content-Type': 'application/pkcs7-mime; name="smime.p7m"',
    'Content-Disposition': 'attachment; filename="smime.p7m"',
  });
  response.end(file);
};

const listDevices: Route = ({ control, response, query }) => {
  const { serial, server: name, offset = '0' } = query;
  if (serial !== undefined) {
    sendJson(response, 200, { devices: control.portal.lookUp(serial.split(',')) });
    return;
  }
  const server = control.portal.server(name);
  const from = Number.parseInt(offset, 10) || 0;
  const devices = server.devices.filter(({ isGone }) => !isGone).slice(from, from + MAX_LISTED);
  sendJson(response, 200, {
    server: server.name,
    total: server.count,
    devices: devices.map(listedDevice),
  });
};

const addDevices: Route = async ({ control, request, response, query }) => {
  const { family, count, serial_numbers } = await readBody(request, newDevices, MAX_BODY);
  const devices = { family, count, serialNumbers: serial_numbers };
  const added = control.portal.addDevices(query.server, devices);
  sendJson(response, 201, { serial_numbers: added });
};

const removeDevices: Route = async ({ control, request, response, query }) => {
  const { serial_numbers } = await readBody(request, goneDevices, MAX_BODY);
  sendJson(response, 200, { removed: control.portal.removeDevices(query.server, serial_numbers) });
};

const addFault: Route = async ({ control, request, response }) => {
  const rule = await readBody(request, faultBody, MAX_BODY);
  control.addFault(rule);
  sendJson(response, 201, rule);
};

const expireSessions = noContent(async ({ control, request }) => {
  const length = Number(request.headers['content-length'] ?? 0);
  const { status } = length > 0 ? await readBody(request, expiredSessions) : { status: undefined };
  control.expireSessions(status);
});

const activate: Route = ({ control, response, query }) => {
  if (query.serial === undefined) throw new ControlFault(400, '?serial= is required');
  sendJson(response, 200, control.portal.activate(query.serial));
};

const ROUTES: Record<string, Record<string, Route>> = {
  '/': { GET: ({ response }) => sendJson(response, 200, PORTAL_HELP) },
  '/token': {
    POST: issueToken,
    DELETE: noContent(({ control, query }) => control.portal.revokeTokens(query.server)),
  },
  '/devices': { GET: listDevices, POST: addDevices, DELETE: removeDevices },
  '/activation': { GET: activate },
  '/profiles': {
    DELETE: noContent(({ control, query }) => control.portal.forgetProfiles(query.server)),
  },
  '/terms': {
    POST: noContent(async ({ control, request }) => {
      control.portal.signTerms((await readBody(request, termsBody)).signed);
    }),
  },
  '/faults': {
    GET: ({ control, response }) => sendJson(response, 200, control.faults()),
    POST: addFault,
    DELETE: noContent(({ control }) => control.clearFaults()),
  },
  '/sessions/expire': { POST: expireSessions },
  '/cursors/expire': { POST: noContent(({ control }) => control.portal.expireCursors()) },
  '/requests': {
    GET: ({ control, response }) => sendJson(response, 200, control.requests()),
    DELETE: noContent(({ control }) => control.resetRequests()),
  },
};

/** Answers calls of the portal. */
export async function servePortal(
  control: DepControl,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  try {
    const methods = Object.hasOwn(ROUTES, pathname) ? ROUTES[pathname] : undefined;
    if (methods === undefined) {
      throw new ControlFault(404, 'there is no such call', PORTAL_HELP);
    }
    const route = methods[request.method ?? ''];
    if (route === undefined) throw new ControlFault(405, Object.keys(methods).join(', '));
    await route({ control, request, response, query: Object.fromEntries(searchParams) });
  } catch (error) {
    sendFault(response, error);
  }
}

/** Answers 204 after `work`. */
function noContent(work: (call: PortalRequest) => Promise<void> | void): Route {
  return async (call) => {
    await work(call);
    call.response.writeHead(204).end();
  };
}
