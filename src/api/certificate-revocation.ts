import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Transaction } from '../db/unit-of-work.js';
import { type ErrorDetail, validationError } from '../errors.js';
import { contextOf } from '../http/request-context.js';
import type { Engine } from '../jsonapi/engine.js';
import { performWrite, readIdempotency } from '../jsonapi/idempotency.js';
import { resourcesDocument } from '../jsonapi/item.js';
import { pointer } from '../jsonapi/pointer.js';
import { sendAnswer } from '../jsonapi/send.js';
import {
  REVOCATION_REASONS,
  type Revoked,
  revoke,
  type StoredRevocationReason,
} from '../pki/revocation.js';
import type { ApiOperation, ApiParameter, ApiRoute } from './api-route.js';
import { itemSchema, jsonApiContent, jsonContent } from './documents.js';
import { jsonBody } from './json-body.js';
import { pathId } from './path-id.js';
import { booleanParameter, refuseOthers } from './query-parameters.js';

export interface CertificateRevocationDeps {
  engine: Engine;
  /** Called once a change to the CAs is committed. */
  onAuthoritiesChange: () => Promise<void>;
}

const ATTRIBUTES = z.strictObject({ reason: z.enum(REVOCATION_REASONS).default('unspecified') });
const DOCUMENT = z.object({
  data: z.object({ type: z.literal('certificates'), attributes: z.unknown().optional() }),
});

/** Flat, or as the attribute of a JSON:API document. AppError 422 with every fault. */
function readReason(body: unknown): StoredRevocationReason {
  const isDocument = typeof body === 'object' && body !== null && 'data' in body;
  if (!isDocument) return parse(ATTRIBUTES, body ?? {}, '').reason;
  const { data } = parse(DOCUMENT, body, '');
  return parse(ATTRIBUTES, data.attributes ?? {}, '/data/attributes').reason;
}

function parse<T>(schema: z.ZodType<T>, given: unknown, prefix: string): T {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw validationError(parsed.error.issues.flatMap((issue) => faultsOf(issue, prefix)));
}

function faultsOf(issue: z.core.$ZodIssue, prefix: string): ErrorDetail[] {
  const keys = issue.code === 'unrecognized_keys' ? issue.keys : [undefined];
  return keys.map((key) => {
    const path = [...issue.path, ...(key === undefined ? [] : [key])].map(String);
    return { detail: issue.message, source: { pointer: prefix + pointer(...path) } };
  });
}

const forceParameter: ApiParameter = {
  name: 'force',
  in: 'query',
  description: 'Revoke it although devices depend on it.',
  schema: { type: 'boolean', default: false },
};

const reasonSchema = {
  type: 'object',
  properties: {
    reason: {
      type: 'string',
      enum: [...REVOCATION_REASONS],
      default: 'unspecified',
      description: 'By the names of RFC 5280 5.3.1.',
    },
  },
  additionalProperties: false,
};

const documentSchema = {
  type: 'object',
  properties: {
    data: {
      type: 'object',
      properties: { type: { type: 'string', enum: ['certificates'] }, attributes: reasonSchema },
      required: ['type'],
    },
  },
  required: ['data'],
};

/** Revocation, which is for good. */
export function certificateRevocationRoutes(deps: CertificateRevocationDeps): ApiRoute[] {
  const POST: ApiOperation = {
    operationId: 'revokeCertificate',
    tag: 'certificates',
    role: 'admin',
    summary: 'Revoke a certificate',
    description:
      'For good. A device whose certificate is revoked is refused from its next contact on, until ' +
      'it enrolls again. The revocation list and OCSP tell of it at once. One revoked before stays ' +
      'as it is. 409 `in_use` for the CA that issues identities now (`muster ca rotate` first), ' +
      'and without `force=true` for a CA that enrolled devices depend on, and for the only push ' +
      'certificate of a topic with enrolled devices.',
    parameters: [forceParameter],
    requestBody: {
      required: false,
      content: jsonContent({ anyOf: [reasonSchema, documentSchema] }, { reason: 'keyCompromise' }),
    },
    answers: [
      {
        status: 200,
        description: 'The certificate.',
        content: [jsonApiContent(itemSchema('certificates'))],
      },
    ],
    errors: [400, 404, 409, 413, 415, 422],
    handlers: [...jsonBody, (req, res) => answer(deps, req, res)],
  };
  return [{ path: '/certificates/{id}/revoke', methods: { POST } }];
}

async function answer(
  { engine, onAuthoritiesChange }: CertificateRevocationDeps,
  req: Request,
  res: Response,
): Promise<void> {
  refuseOthers(req, ['force']);
  const isForced = booleanParameter(req, 'force');
  const id = pathId(req, 'certificates');
  const reason = readReason(req.body);
  const context = contextOf(res);
  let revoked: Revoked | undefined;
  const work = async (trx: Transaction) => {
    revoked = await revoke(trx, { id, reason, isForced });
    await engine.audit(trx, {
      context,
      action: 'certificates.revoke',
      targetType: 'certificates',
      targetId: id,
      outcome: 'success',
      details: revoked.isNew ? { reason, force: isForced } : { already_revoked: true },
    });
    const document = await resourcesDocument(engine, 'certificates', { ids: id, trx });
    return { status: 200, document };
  };
  const idempotency = readIdempotency(req);
  const written = await performWrite(engine.store, { context, idempotency, work });
  if (revoked?.isNew && revoked.isAuthority) await onAuthoritiesChange();
  sendAnswer(req, res, written);
}
