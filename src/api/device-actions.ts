import express, { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { DeviceActions } from '../commands/device-actions.js';
import type { Database } from '../db/database.js';
import { inTransaction, type Transaction } from '../db/unit-of-work.js';
import { AppError, type ErrorDetail, notFound, validationError } from '../errors.js';
import { writeAudit } from '../events/audit.js';
import { requireRole } from '../http/authenticate.js';
import { contextOf } from '../http/request-context.js';
import { hasRole } from '../jsonapi/context.js';
import { MEDIA_TYPE } from '../jsonapi/document.js';
import type { Engine } from '../jsonapi/engine.js';
import { resourcesDocument } from '../jsonapi/item.js';
import { checkContentType, checkUtf8 } from '../jsonapi/negotiation.js';
import { parseId } from '../jsonapi/values.js';
import type { ResourceServices } from '../resources/services.js';

export interface DeviceActionDeps {
  db: Database;
  engine: Engine;
  actions: DeviceActions;
  services: ResourceServices;
}

interface Action {
  name: string;
  /** Queues the command or commands; a number is answered with one resource, a list with many. */
  queue(trx: Transaction, deviceId: number): Promise<number | number[]>;
}

function deviceIdOf(req: Request): number {
  const given = String(req.params.id);
  const id = parseId(given);
  if (id === undefined) throw notFound(`device ${given}`);
  return id;
}

/** A misspelt parameter must not be passed over by what changes a device. */
function refuseParameters(req: Request): void {
  const [parameter] = Object.keys(req.query);
  if (parameter === undefined) return;
  const source = { parameter };
  throw new AppError('invalid_parameter', 400, `${parameter} means nothing here`, { source });
}

/** Runs the action, with its audit line, in one transaction and answers 201 with what it queued. */
async function perform(
  deps: DeviceActionDeps,
  action: Action,
  { req, res }: { req: Request; res: Response },
): Promise<void> {
  const deviceId = deviceIdOf(req);
  refuseParameters(req);
  const document = await inTransaction(deps.db, async (trx) => {
    const ids = await action.queue(trx, deviceId);
    await writeAudit(trx, {
      context: contextOf(res),
      action: `devices.${action.name}`,
      targetType: 'devices',
      targetId: deviceId,
      outcome: 'success',
      details: { commands: ids },
    });
    return resourcesDocument(deps.engine, 'commands', { ids, trx });
  });
  res.status(201).setHeader('Content-Type', MEDIA_TYPE);
  res.send(Buffer.from(JSON.stringify(document)));
}

const TEST_BODY = z.strictObject({
  request_type: z.string().max(100).optional(),
  parameters: z.record(z.string(), z.json()).default({}),
});

const DOCUMENT = z.object({ data: z.object({ attributes: z.unknown() }) });

/** The command named in the body: flat, or as the attributes of a JSON:API document. */
function readWanted(body: unknown) {
  if (body === undefined) return undefined;
  const document = DOCUMENT.safeParse(body);
  const given = document.success ? document.data.data.attributes : body;
  const prefix = document.success ? '/data/attributes' : '';
  const { success, data, error } = TEST_BODY.safeParse(given);
  if (!success) throw validationError(error.issues.flatMap((issue) => faultsOf(issue, prefix)));
  const { request_type: named, parameters } = data;
  if (named === undefined && Object.keys(parameters).length === 0) return undefined;
  return { requestType: named ?? 'DeviceInformation', parameters, prefix };
}

function faultsOf(issue: z.core.$ZodIssue, prefix: string): ErrorDetail[] {
  const keys = issue.code === 'unrecognized_keys' ? issue.keys : [undefined];
  return keys.map((key) => {
    const path = [...issue.path, ...(key === undefined ? [] : [key])];
    return { detail: issue.message, source: { pointer: [prefix, ...path].join('/') } };
  });
}

/** Pointers into a JSON:API document, as faults of a command have them, for a flat body. */
function inBody(error: unknown, prefix: string): unknown {
  if (!(error instanceof AppError) || prefix !== '' || error.details.length === 0) return error;
  const details = error.details.map(({ source, ...fault }) => ({
    ...fault,
    source: { ...source, pointer: (source?.pointer ?? '').replace('/data/attributes', '') },
  }));
  return new AppError(error.code, error.status, error.message, { details });
}

function testAction({ actions, services }: DeviceActionDeps, req: Request, res: Response): Action {
  const wanted = readWanted(req.body);
  const { actor } = contextOf(res);
  const isForAdmins =
    wanted !== undefined && services.commands.requiresAdmin(wanted.requestType, wanted.parameters);
  if (isForAdmins && !hasRole(actor, 'admin')) {
    throw new AppError('forbidden', 403, `${wanted.requestType} needs the role admin`);
  }
  const queue = (trx: Transaction, deviceId: number) =>
    actions.test(trx, deviceId, wanted).catch((error: unknown) => {
      throw inBody(error, wanted?.prefix ?? '');
    });
  return { name: 'test', queue };
}

const parseBody = express.json({
  limit: '1mb',
  strict: false,
  type: () => true,
  verify: checkUtf8,
});

const checkBodyType: express.RequestHandler = (req, _res, next) => {
  const hasBody =
    Number(req.headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in req.headers;
  if (hasBody) checkContentType(req.headers['content-type']);
  next();
};

/** Device actions of the API that are no CRUD. GET and POST alike change state; HEAD never does. */
export function createDeviceActionRouter(deps: DeviceActionDeps): Router {
  const { actions } = deps;
  const router = Router();
  const operator = requireRole('operator');
  const simple: Record<string, Action> = {
    '/devices/:id/clear_passcode': {
      name: 'clear_passcode',
      queue: (trx, deviceId) => actions.clearPasscode(trx, deviceId),
    },
    '/devices/inventory/:id': {
      name: 'inventory',
      queue: (trx, deviceId) => actions.inventory(trx, deviceId),
    },
  };
  for (const [path, action] of Object.entries(simple)) {
    const run = (req: Request, res: Response) => perform(deps, action, { req, res });
    router.head(path, refuseMethod('GET, POST'));
    router.get(path, operator, run);
    router.post(path, operator, run);
    router.all(path, refuseMethod('GET, POST'));
  }
  router.post('/devices/test/:id', operator, checkBodyType, parseBody, (req, res) =>
    perform(deps, testAction(deps, req, res), { req, res }),
  );
  router.all('/devices/test/:id', refuseMethod('POST'));
  return router;
}

function refuseMethod(allow: string): express.RequestHandler {
  return (req, res) => {
    const headers = { Allow: `${allow}, OPTIONS` };
    if (req.method === 'OPTIONS') {
      res.status(204).set(headers).end();
      return;
    }
    throw new AppError('method_not_allowed', 405, `${req.method} is not possible here`, {
      headers,
    });
  };
}
