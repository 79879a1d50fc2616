import type { Request, RequestHandler, Response } from 'express';
import type { CommandAdministration } from '../../commands/command-administration.js';
import type { DeviceActions } from '../../commands/device-actions.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import { contextOf } from '../../http/requests/request-context.js';
import { hasRole } from '../../jsonapi/context.js';
import type { Document } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { attributesIn, resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { inFlatBody } from '../../jsonapi/requests/pointers.js';
import {
  type ApiAnswer,
  type ApiOperation,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  jsonContent,
  listSchema,
} from '../api-route.js';

import { jsonBody, pathId, refuseParameters } from '../request-parts.js';

import { readTestCommand } from './command-body.js';

export interface DeviceActionDeps {
  engine: ApiContext;
  actions: DeviceActions;
  services: { commands: CommandAdministration };
}

export interface DeviceAction {
  name: string;
  /** Queues the command or commands; a number is answered with one resource, a list with many. */
  queue(trx: Transaction, deviceId: number): Promise<number | number[]>;
}

/** Device actions of the API that are no CRUD. GET and POST alike change state; HEAD never does. */
export function deviceActionRoutes(deps: DeviceActionDeps): ApiRoute[] {
  const { actions } = deps;
  const clearPasscode: DeviceAction = {
    name: 'clear_passcode',
    queue: (trx, deviceId) => actions.clearPasscode(trx, deviceId),
  };
  const inventory: DeviceAction = {
    name: 'inventory',
    queue: (trx, deviceId) => actions.inventory(trx, deviceId),
  };
  return [
    byGetAndPost('/devices/{id}/clear_passcode', 'clearPasscode', {
      ...clearPasscodeText,
      handlers: [...plain, (req, res) => perform(deps, clearPasscode, { req, res })],
    }),
    byGetAndPost('/devices/inventory/{id}', 'queueInventory', {
      ...inventoryText,
      handlers: [...plain, (req, res) => perform(deps, inventory, { req, res })],
    }),
    testRoute(deps),
  ];
}

/** Neither parameters nor a body mean anything, but a body that is none is a mistake. */
export const plain: RequestHandler[] = [refuseParameters, ...jsonBody];

export const COMMON: Pick<ApiOperation, 'tag' | 'role' | 'errors'> = {
  tag: 'devices',
  role: 'operator',
  errors: [400, 404, 409, 413, 415, 422],
};

const clearPasscodeText = {
  ...COMMON,
  summary: 'Clear the passcode of a device',
  description:
    'Queues ClearPasscode with the unlock token that the device has given. 409 `no_unlock_token` ' +
    'when it has given none in its present enrollment, 422 on a platform without such a command.',
  answers: [queued('The queued command.', itemSchema('commands'))],
};

const inventoryText = {
  ...COMMON,
  summary: 'Ask a device for its whole inventory',
  description:
    'Queues every query that the device can answer: device information, applications, profiles, ' +
    'certificates, security and updates.',
  answers: [queued('The queued commands.', listSchema('commands'))],
};

export function queued(description: string, schema: Record<string, unknown>): ApiAnswer {
  return { status: 201, description, content: [jsonApiContent(schema)] };
}

/** The contract's GET, and a POST for those who keep GET free of consequences. */
function byGetAndPost(
  path: string,
  operationId: string,
  operation: Omit<ApiOperation, 'operationId'>,
): ApiRoute {
  const get = { ...operation, operationId: `${operationId}ByGet`, changesState: true };
  return { path, methods: { GET: get, POST: { ...operation, operationId } } };
}

const TEST_SCHEMA = {
  type: 'object',
  properties: {
    request_type: {
      type: 'string',
      maxLength: 100,
      default: 'DeviceInformation',
      description: "One of Apple's request types.",
    },
    parameters: {
      type: 'object',
      additionalProperties: true,
      description: "Apple's keys; data as a base64 string, a date as an ISO 8601 string.",
    },
  },
  additionalProperties: false,
};

const TEST_EXAMPLE = { request_type: 'DeviceInformation', parameters: { Queries: ['OSVersion'] } };

function testRoute(deps: DeviceActionDeps): ApiRoute {
  const run: RequestHandler = (req, res) => perform(deps, testAction(deps, req, res), { req, res });
  const schema = { anyOf: [TEST_SCHEMA, documentWith(TEST_SCHEMA)] };
  const operation: ApiOperation = {
    ...COMMON,
    operationId: 'queueTestCommand',
    summary: 'Queue any command for a quick check',
    description:
      'Flat, or as the attributes of a JSON:API document. Without a body a DeviceInformation that ' +
      'asks for everything. Commands that erase or that set or reveal secrets need the role admin.',
    requestBody: { required: false, content: jsonContent(schema, TEST_EXAMPLE) },
    answers: [queued('The queued command.', itemSchema('commands'))],
    handlers: [refuseParameters, ...jsonBody, run],
  };
  return { path: '/devices/test/{id}', methods: { POST: operation } };
}

function documentWith(attributes: Record<string, unknown>) {
  const data = { type: 'object', properties: { attributes }, required: ['attributes'] };
  return { type: 'object', properties: { data }, required: ['data'] };
}

function testAction(
  { actions, services }: DeviceActionDeps,
  req: Request,
  res: Response,
): DeviceAction {
  const wanted = readTestCommand(req.body);
  const { actor } = contextOf(res);
  const isForAdmins =
    wanted !== undefined && services.commands.requiresAdmin(wanted.requestType, wanted.parameters);
  if (isForAdmins && !hasRole(actor, 'admin')) {
    throw new AppError('forbidden', 403, `${wanted.requestType} needs the role admin`);
  }
  const queue = (trx: Transaction, deviceId: number) =>
    actions.test(trx, deviceId, wanted).catch((error: unknown) => {
      throw wanted?.isFlat ? inFlatBody(error) : error;
    });
  return { name: 'test', queue };
}

/** For the audit trail: what was queued, its secrets masked. */
function commandsIn(document: Document) {
  return attributesIn(document).map(({ id, request_type, parameters }) => ({
    ...{ id, request_type, parameters },
  }));
}

/** Runs the action, with its audit event, in one transaction and answers 201 with what it queued. */
export async function perform(
  { engine }: Pick<DeviceActionDeps, 'engine'>,
  action: DeviceAction,
  { req, res }: { req: Request; res: Response },
): Promise<void> {
  const deviceId = pathId(req, 'device');
  const context = contextOf(res);
  const work = async (trx: Transaction) => {
    const ids = await action.queue(trx, deviceId);
    const document = await resourcesDocument(engine, 'commands', { ids, trx, context });
    await engine.audit(trx, {
      context,
      action: `devices.${action.name}`,
      targetType: 'devices',
      targetId: deviceId,
      outcome: 'success',
      details: { commands: commandsIn(document) },
    });
    return { status: 201, document };
  };
  const idempotency = readIdempotency(req);
  sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
}
