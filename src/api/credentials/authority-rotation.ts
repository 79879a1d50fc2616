import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { writeAudit } from '../../events/audit.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { RequestContext } from '../../jsonapi/context.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import {
  type AuthorityKeys,
  type AuthorityRotations,
  CA_KEY_SIZES,
  type CaKeySize,
  makeAuthorityKeys,
  type Rotation,
} from '../../pki/authority/stored-authority.js';
import {
  type ApiOperation,
  type ApiRoute,
  itemSchema,
  jsonApiContent,
  jsonContent,
} from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';

import { jsonBody, parseBody, refuseParameters } from '../request-parts.js';

export interface AuthorityRotationDeps {
  db: Database;
  engine: ApiContext;
  authorityRotations: AuthorityRotations;
  /** After the commit, so that this process issues by the new CA at once. */
  onAuthoritiesChange: () => Promise<void>;
}

const ROTATION = { action: 'ca_certificates.rotate', targetType: 'certificates' };

const BODY = z.strictObject({ key_size: z.literal(CA_KEY_SIZES).default(2048) });
const DOCUMENT = z.object({ data: z.object({ attributes: z.unknown() }) });

const BODY_SCHEMA = {
  type: 'object',
  properties: { key_size: { type: 'integer', enum: [...CA_KEY_SIZES], default: 2048 } },
  additionalProperties: false,
};

/** A new CA of ours takes over, with its line of audit, in the caller's transaction. */
export async function rotateAudited(
  trx: Transaction,
  rotations: AuthorityRotations,
  { keys, context }: { keys: AuthorityKeys; context: RequestContext },
): Promise<Rotation> {
  const rotation = await rotations.rotate(trx, keys);
  const { made, former } = rotation;
  const { subject, fingerprint } = made.certificate;
  await writeAudit(trx, {
    context,
    ...ROTATION,
    targetId: made.id,
    outcome: 'success',
    details: { subject, fingerprint: fingerprint.toString('hex'), former: former?.id ?? null },
  });
  return rotation;
}

/** Lets a new CA issue the identities of devices. */
export function authorityRotationRoutes(deps: AuthorityRotationDeps): ApiRoute[] {
  const data = { type: 'object', properties: { attributes: BODY_SCHEMA } };
  const document = { type: 'object', properties: { data }, required: ['data'] };
  const POST: ApiOperation = {
    operationId: 'rotateCaCertificate',
    tag: 'certificates',
    role: 'admin',
    summary: 'Let a new CA issue the identities of devices',
    description:
      'Makes a CA with a new key, which issues from now on, in every process within seconds. The ' +
      'former one stays trusted: devices notice nothing until their identities are renewed. Without ' +
      'a body, its key is RSA of 2048 bits.',
    requestBody: {
      required: false,
      content: jsonContent({ anyOf: [BODY_SCHEMA, document] }, { key_size: 3072 }),
    },
    answers: [
      {
        status: 201,
        description: 'The certificate of the new CA.',
        content: [jsonApiContent(itemSchema('certificates'))],
      },
    ],
    errors: [400, 413, 415, 422],
    handlers: [refuseParameters, ...jsonBody, (req, res) => rotate(deps, req, res)],
    onError: auditRefusals(deps.db, ROTATION),
  };
  return [{ path: '/ca_certificates/rotate', methods: { POST } }];
}

function readKeySize(body: unknown): CaKeySize {
  const document = DOCUMENT.safeParse(body);
  const given = document.success ? (document.data.data.attributes ?? {}) : (body ?? {});
  const prefix = document.success ? '/data/attributes' : '';
  return parseBody(BODY, given, prefix).key_size;
}

async function rotate(
  { engine, authorityRotations, onAuthoritiesChange }: AuthorityRotationDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const keys = await makeAuthorityKeys(readKeySize(req.body));
  const context = contextOf(res);
  const work = async (trx: Transaction) => {
    const { made } = await rotateAudited(trx, authorityRotations, { keys, context });
    const { id: ids } = made;
    const document = await resourcesDocument(engine, 'certificates', { ids, trx, context });
    return { status: 201, document, location: `${engine.basePath}/certificates/${made.id}` };
  };
  const idempotency = readIdempotency(req);
  const answer = await performWrite(engine.store, { context, idempotency, work });
  await onAuthoritiesChange();
  sendAnswer(req, res, answer);
}
