import type { Request, RequestHandler, Response } from 'express';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { secretLabel } from '../../db/devices/device-repository.js';
import { findSecret, type SecretKind, type StoredSecret } from '../../db/devices/device-secrets.js';
import { AppError, notFound } from '../../errors.js';
import { writeAudit } from '../../events/audit.js';
import { contextOf } from '../../http/requests/request-context.js';
import { formatTimestamp, parseId } from '../../jsonapi/definition/values.js';
import { type Document, JSONAPI } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { type ApiOperation, type ApiRoute, jsonApiContent, type Schema } from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';

import { jsonBody, pathId, refuseParameters } from '../request-parts.js';

export interface DeviceSecretDeps {
  engine: ApiContext;
  db: Database;
  /** AppError where the bytes were not sealed for the identity. */
  box: { open(sealed: Buffer, identity: string): Buffer };
}

const REVEAL = { action: 'devices.reveal_secret', targetType: 'devices' };

/** The others are bytes. */
const TEXT_KINDS: readonly SecretKind[] = [
  'activation_lock_bypass_code',
  'fde_personal_recovery_key_device_key',
];

/** What a device has escrowed, shown to an admin. The list of it is a resource as others are. */
export function deviceSecretRoutes(deps: DeviceSecretDeps): ApiRoute[] {
  const POST: ApiOperation = {
    operationId: 'revealDeviceSecret',
    tag: 'device_secrets',
    role: 'admin',
    summary: 'Show what a device has escrowed',
    description:
      'The value of one secret, also of a former enrollment: as text, or in base64 where it is ' +
      'bytes (unlock tokens, bootstrap tokens, encrypted recovery keys). Each time is audited, with ' +
      'the kind and never the value, and so is each that is refused. 409 `conflict` for the mark ' +
      'of a secret that the device has taken away. Nothing of it is kept for an Idempotency-Key.',
    answers: [{ status: 200, description: 'The secret.', content: [jsonApiContent(schema())] }],
    errors: [400, 404, 409, 413, 415, 422],
    handlers: [refuseParameters, ...jsonBody, reveal(deps)],
    onError: auditRefusals(deps.db, REVEAL),
  };
  return [{ path: '/devices/{id}/secrets/{secret_id}/reveal', methods: { POST } }];
}

function secretId({ params }: Request): number {
  const given = String(params.secret_id);
  const id = parseId(given);
  if (id === undefined) throw notFound(`device_secrets ${given}`);
  return id;
}

/** The line of audit is committed before the secret leaves. */
function reveal({ engine, db, box }: DeviceSecretDeps): RequestHandler {
  return async (req: Request, res: Response) => {
    const place = { deviceId: pathId(req, 'device'), id: secretId(req) };
    const secret = await inTransaction(db, async (trx) => {
      const found = await findSecret(trx, place);
      if (found === undefined) throw notFound(`device_secrets ${place.id} of this device`);
      const { id, kind, enrollment_number } = found;
      if (found.sealed.length === 0) {
        throw new AppError('conflict', 409, `the device has taken its ${kind} away`);
      }
      await writeAudit(trx, {
        ...{ context: contextOf(res), ...REVEAL, targetId: place.deviceId },
        ...{ outcome: 'success', details: { secret_id: id, kind, enrollment_number } },
      });
      return { ...found, value: box.open(found.sealed, secretLabel(place.deviceId, kind)) };
    });
    const self = `${engine.basePath}/devices/${place.deviceId}/secrets/${place.id}/reveal`;
    sendAnswer(req, res, { status: 200, document: documentOf(secret, self) });
  };
}

function documentOf(secret: StoredSecret & { value: Buffer }, self: string): Document {
  const { id, kind, enrollment_number, created_at, value } = secret;
  const encoding = TEXT_KINDS.includes(kind) ? 'utf8' : 'base64';
  const attributes = {
    ...{ kind, enrollment_number, created_at: formatTimestamp(created_at), encoding },
    value: value.toString(encoding),
  };
  const links = { self };
  return { data: { type: 'revealed_secrets', id, attributes, links }, links, jsonapi: JSONAPI };
}

function object(properties: Record<string, Schema>): Schema {
  const required = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false };
}

function schema(): Schema {
  const text = { type: 'string' };
  const links = { $ref: '#/components/schemas/resource_links' };
  const attributes = object({
    kind: { ...text, description: 'As in the list of secrets.' },
    enrollment_number: { type: 'integer', description: 'The enrollment that it was given in.' },
    created_at: { ...text, format: 'date-time' },
    encoding: { ...text, enum: ['utf8', 'base64'], description: 'How the value is written.' },
    value: text,
  });
  const type = { ...text, enum: ['revealed_secrets'] };
  const data = object({ type, id: { $ref: '#/components/schemas/id' }, attributes, links });
  return object({ data, links, jsonapi: { $ref: '#/components/schemas/jsonapi' } });
}
