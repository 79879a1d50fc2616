import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { contextOf } from '../../http/requests/request-context.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { inFlatBody } from '../../jsonapi/requests/pointers.js';
import {
  type ApiOperation,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  jsonContent,
  listSchema,
  type Schema,
} from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';

import {
  booleanParameter,
  jsonBody,
  parseBody,
  pathId,
  refuseOthers,
  requiredJsonBody,
} from '../request-parts.js';

export interface DepDeviceRouteDeps {
  db: Database;
  engine: ApiContext;
  depDeviceActions: {
    /** The rows, once Apple is to be told. 404, 409, 422 as the operation's description says. */
    disown(
      trx: Transaction,
      request: { serialNumbers: readonly string[]; confirm: string; isForced: boolean },
    ): Promise<{ accountId: number; ids: number[] }>;
    /** The new bypass code, once Apple is to be told. 404, 409 as the description says. */
    lock(
      trx: Transaction,
      request: { id: number; lostMessage: string | undefined; isForced: boolean },
    ): Promise<{ deviceId: number; serialNumber: string; secretId: number }>;
  };
}

const MOST_SERIALS = 1_000;
const serialNumber = z.string().trim().min(1).max(64);
const DISOWN_BODY = z.strictObject({
  serial_numbers: z.array(serialNumber).min(1).max(MOST_SERIALS),
  confirm: z.string().max(200),
});
const LOCK_BODY = z.strictObject({ lost_message: z.string().max(1_000).optional() });
const DOCUMENT = z.object({
  data: z.object({ type: z.literal('dep_devices'), attributes: z.unknown().optional() }),
});

const DISOWNED = { action: 'dep_devices.disown', targetType: 'dep_accounts' };
const LOCKED = { action: 'dep_devices.activation_lock', targetType: 'dep_devices' };

/** What an admin has Apple do with devices of the enrollment program. */
export function depDeviceRoutes(deps: DepDeviceRouteDeps): ApiRoute[] {
  return [
    { path: '/dep/devices/disown', methods: { POST: disownOperation(deps) } },
    { path: '/dep/devices/{id}/activation_lock', methods: { POST: lockOperation(deps) } },
  ];
}

/** Flat, or as the attributes of a JSON:API document. AppError 422 with every fault. */
function readAttributes<T>(schema: z.ZodType<T>, body: unknown): T {
  if (isFlat(body)) return parseBody(schema, body ?? {});
  const { data } = parseBody(DOCUMENT, body);
  return parseBody(schema, data.attributes ?? {}, '/data/attributes');
}

function isFlat(body: unknown): boolean {
  return !(typeof body === 'object' && body !== null && 'data' in body);
}

function documentWith(attributes: Schema): Schema {
  const type = { type: 'string', enum: ['dep_devices'] };
  const data = { type: 'object', properties: { type, attributes }, required: ['type'] };
  return { type: 'object', properties: { data }, required: ['data'] };
}

function forceParameter(description: string) {
  const schema = { type: 'boolean', default: false };
  return { name: 'force', in: 'query' as const, description, schema };
}

function disownOperation({ db, engine, depDeviceActions }: DepDeviceRouteDeps): ApiOperation {
  const handler: RequestHandler = async (req, res) => {
    refuseOthers(req, ['force']);
    const isForced = booleanParameter(req, 'force');
    const { serial_numbers: serialNumbers, confirm } = readAttributes(DISOWN_BODY, req.body);
    const context = contextOf(res);
    const work = async (trx: Transaction) => {
      const asked = { serialNumbers, confirm, isForced };
      const { accountId, ids } = await depDeviceActions
        .disown(trx, asked)
        .catch((error: unknown) => {
          throw isFlat(req.body) ? inFlatBody(error) : error;
        });
      await engine.audit(trx, {
        ...{ context, ...DISOWNED, targetId: accountId, outcome: 'success' },
        details: { serial_numbers: [...new Set(serialNumbers)], force: isForced },
      });
      const document = await resourcesDocument(engine, 'dep_devices', { ids, trx, context });
      return { status: 202, document };
    };
    const idempotency = readIdempotency(req);
    sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
  };
  return {
    ...disownText,
    handlers: [...requiredJsonBody, handler],
    onError: auditRefusals(db, DISOWNED),
  };
}

const disownSchema: Schema = {
  type: 'object',
  properties: {
    serial_numbers: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 64 },
      ...{ minItems: 1, maxItems: MOST_SERIALS },
    },
    confirm: {
      type: 'string',
      maxLength: 200,
      description: 'The serial number of one device; of several `disown <number> devices forever`.',
    },
  },
  required: ['serial_numbers', 'confirm'],
  additionalProperties: false,
};

const disownText: Omit<ApiOperation, 'handlers'> = {
  operationId: 'disownDevices',
  tag: 'dep_devices',
  role: 'admin',
  summary: 'Give devices up for good',
  description:
    'Has Apple take the devices out of the organization, by a job. **Nobody can undo it**: only ' +
    'whoever sold a device can bring it back. So `confirm` has to be typed (422 ' +
    '`confirmation_mismatch` tells what). All of them have to be listed by one account: 404 names ' +
    'those that none lists, 409 `other_dep_account` those of others. 409 `in_use` for enrolled ' +
    'devices and 409 `conflict` for those that Apple is just being told of, without `force=true`. ' +
    "What came of each stands in its `disown_result`: requested, sent, then a word of Apple's " +
    '(SUCCESS, NOT_ACCESSIBLE, FAILED); `refused` where Apple did nothing (see `last_error`; ask ' +
    'again), `no_answer` where nobody knows: it is never repeated, the next sync tells.',
  parameters: [forceParameter('Disown enrolled devices too.')],
  requestBody: {
    required: true,
    content: jsonContent(
      { anyOf: [disownSchema, documentWith(disownSchema)] },
      { serial_numbers: ['C02XK1JKLVCG'], confirm: 'C02XK1JKLVCG' },
    ),
  },
  answers: [
    {
      status: 202,
      description: 'The devices; Apple is told by a job.',
      content: [jsonApiContent(listSchema('dep_devices'))],
    },
  ],
  errors: [400, 404, 409, 413, 415, 422],
};

function lockOperation({ db, engine, depDeviceActions }: DepDeviceRouteDeps): ApiOperation {
  const handler: RequestHandler = async (req, res) => {
    refuseOthers(req, ['force']);
    const isForced = booleanParameter(req, 'force');
    const id = pathId(req, 'dep_devices');
    const { lost_message: lostMessage } = readAttributes(LOCK_BODY, req.body);
    const context = contextOf(res);
    const work = async (trx: Transaction) => {
      const asked = { id, lostMessage, isForced };
      const { deviceId, serialNumber: serial, secretId } = await depDeviceActions.lock(trx, asked);
      await engine.audit(trx, {
        ...{ context, ...LOCKED, targetId: id, outcome: 'success' },
        details: { serial_number: serial, device_id: deviceId, secret_id: secretId },
      });
      const document = await resourcesDocument(engine, 'dep_devices', { ids: id, trx, context });
      const meta = { ...document.meta, device_id: deviceId, secret_id: secretId };
      return { status: 202, document: { ...document, meta } };
    };
    const idempotency = readIdempotency(req);
    sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
  };
  return { ...lockText, handlers: [...jsonBody, handler], onError: auditRefusals(db, LOCKED) };
}

const lockSchema: Schema = {
  type: 'object',
  properties: {
    lost_message: {
      type: 'string',
      maxLength: 1_000,
      description: 'What the locked device shows.',
    },
  },
  additionalProperties: false,
};

const lockText: Omit<ApiOperation, 'handlers'> = {
  operationId: 'lockActivation',
  tag: 'dep_devices',
  role: 'admin',
  summary: 'Turn the activation lock of a device on',
  description:
    'Makes a bypass code, keeps it with the secrets of the device and then has Apple lock it, by a ' +
    'job. `meta` names the code: POST /devices/{device_id}/secrets/{secret_id}/reveal shows it as it ' +
    'is typed on the device, as does any former one. The code is kept whatever Apple answers. What ' +
    "came of it is `activation_lock_result`: requested, then Apple's word, `refused` (see " +
    '`last_error`) or `no_answer`. 409 `conflict` for a device that Apple does not list or that has ' +
    'no record yet, and without `force=true` for one that is locked already: another code is of no ' +
    'use while Apple knows the former one.',
  parameters: [forceParameter('Make another code although Apple has locked it.')],
  requestBody: {
    required: false,
    content: jsonContent(
      { anyOf: [lockSchema, documentWith(lockSchema)] },
      {
        lost_message: 'Property of Example School: please call 01 234 56 78',
      },
    ),
  },
  answers: [
    {
      status: 202,
      description: 'The device; Apple is told by a job.',
      content: [jsonApiContent(itemSchema('dep_devices'))],
    },
  ],
  errors: [400, 404, 409, 413, 415, 422],
};
