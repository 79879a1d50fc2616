import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { contextOf } from '../../http/requests/request-context.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import type { TlsUse } from '../../pki/certificates/certificate-checks.js';
import {
  REVOCATION_REASONS,
  type Revoked,
  revoke,
  type StoredRevocationReason,
} from '../../pki/revocation/revoke-certificate.js';
import {
  type ApiOperation,
  type ApiParameter,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  jsonContent,
} from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';

import { booleanParameter, jsonBody, parseBody, pathId, refuseOthers } from '../request-parts.js';

export interface CertificateRevocationDeps {
  db: Database;
  engine: ApiContext;
  /** Called once a change to the CAs is committed. */
  onAuthoritiesChange: () => Promise<void>;
  tlsUse?: TlsUse;
}

const REVOCATION = { action: 'certificates.revoke', targetType: 'certificates' };

const ATTRIBUTES = z.strictObject({ reason: z.enum(REVOCATION_REASONS).default('unspecified') });
const DOCUMENT = z.object({
  data: z.object({ type: z.literal('certificates'), attributes: z.unknown().optional() }),
});

/** Flat, or as the attribute of a JSON:API document. AppError 422 with every fault. */
function readReason(body: unknown): StoredRevocationReason {
  const isDocument = typeof body === 'object' && body !== null && 'data' in body;
  if (!isDocument) return parseBody(ATTRIBUTES, body ?? {}).reason;
  const { data } = parseBody(DOCUMENT, body);
  return parseBody(ATTRIBUTES, data.attributes ?? {}, '/data/attributes').reason;
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
      'it enrolls again; its further certificates, as one that was to renew it, are revoked too: ' +
      '`meta` and the audit event name them and the device. The revocation list and OCSP tell of ' +
      'it at once. One revoked before stays as it is. 409 `in_use` for the CA that issues ' +
      'identities now (`muster ca rotate` first), and without `force=true` for a CA that enrolled ' +
      'devices depend on, for the only push certificate of a topic with enrolled devices, and for ' +
      'the last ssl certificate that HTTPS is served with.',
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
    onError: auditRefusals(deps.db, REVOCATION),
  };
  return [{ path: '/certificates/{id}/revoke', methods: { POST } }];
}

/** Nothing shows at the device, which stays enrolled as far as it knows. */
function lockedOut({ device }: Revoked): Record<string, unknown> {
  return device === undefined ? {} : { device: device.id, further_certificates: device.further };
}

async function answer(
  { engine, onAuthoritiesChange, tlsUse }: CertificateRevocationDeps,
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
    revoked = await revoke(trx, { id, reason, isForced, servesStored: tlsUse?.servesStored });
    await engine.audit(trx, {
      context,
      ...REVOCATION,
      targetId: id,
      outcome: 'success',
      details: revoked.isNew
        ? { reason, force: isForced, ...lockedOut(revoked) }
        : { already_revoked: true },
    });
    const document = await resourcesDocument(engine, 'certificates', { ids: id, trx, context });
    const meta = { ...document.meta, ...lockedOut(revoked) };
    return { status: 200, document: { ...document, meta } };
  };
  const idempotency = readIdempotency(req);
  const written = await performWrite(engine.store, { context, idempotency, work });
  if (revoked?.isNew && revoked.isAuthority) await onAuthoritiesChange();
  sendAnswer(req, res, written);
}
