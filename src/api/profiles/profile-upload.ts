import type { Request, RequestHandler } from 'express';
import {
  applyUpload,
  heldVersion,
  holdVersion,
  type UploadOutcome,
} from '../../db/assignments/rollouts.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { AppError } from '../../errors.js';
import { writeAudit } from '../../events/audit.js';
import type { BodyReader } from '../../http/bodies/body-reader.js';
import { upload, uploadedFile } from '../../http/bodies/uploads.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { RequestContext } from '../../jsonapi/context.js';
import type { Document, ResourceObject } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { Answer, ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { invalidParameter } from '../../jsonapi/query/parameters.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import type { CheckedProfile } from '../../profiles/check-file.js';
import type { ImportedProfile, ProfileImport } from '../../profiles/profile-import.js';
import {
  type ApiOperation,
  type ApiParameter,
  fileForm,
  itemSchema,
  jsonApiContent,
} from '../api-route.js';
import { booleanParameter, refuseOthers } from '../request-parts.js';

export interface ProfileUploadDeps {
  api: ApiContext;
  profileImport: ProfileImport;
  uploads: BodyReader;
}

const MAX_BYTES = 5 * 1024 * 1024;

// Not an `action`: it reads a form, and answers 200 or 201.
/** Stores a profile: 201 with a new version, 200 when its bytes are already the current version. */
export function uploadOperation(deps: ProfileUploadDeps): ApiOperation {
  const content = [jsonApiContent(itemSchema('profiles'))];
  return {
    operationId: 'uploadProfile',
    summary: 'Upload a configuration profile',
    description:
      'A property list, XML or binary, on its own or signed; at most 5 MiB. The profile of the same ' +
      'PayloadIdentifier gets a new version. What Apple’s schema does not know is listed in ' +
      '`meta.warnings`. Texts may have variables: `$SERIAL`, `$UDID`, `$DEVICE_NAME`, `$ASSET_TAG`, ' +
      '`$USER_NAME`, `$USER_EMAIL`, `$ATTRIBUTE_name`, `$SECRET_name`, and `$$` for a dollar; assigned devices get values ' +
      'of their own. Encrypted profiles are not supported.',
    tag: 'profiles',
    role: 'operator',
    parameters: [strictParameter, activateParameter, confirmDescription],
    requestBody: { required: true, content: [fileForm('file')] },
    answers: [
      { status: 200, description: 'The same file is the current version already.', content },
      { status: 201, description: 'The profile, with the ids of its payloads.', content },
    ],
    errors: [400, 413, 415, 422],
    handlers: [
      checkUploadQuery,
      upload({ field: 'file', maxBytes: MAX_BYTES, bodies: deps.uploads }),
      storeUpload(deps),
    ],
  };
}

const strictParameter: ApiParameter = {
  name: 'strict',
  in: 'query',
  description: 'Refuse the profile for what would be a warning.',
  schema: { type: 'boolean', default: false },
};

const activateParameter: ApiParameter = {
  name: 'activate',
  in: 'query',
  description:
    'False: devices keep the version that they get now; roll the new one out. While a rollout of the ' +
    'profile is open, this is so anyway. Of a profile that is new it has no effect.',
  schema: { type: 'boolean', default: true },
};

const confirmDescription: ApiParameter = {
  name: 'confirm',
  in: 'query',
  description:
    'The number of devices that may get the new version at once. Above CONFIRM_ABOVE, without it, the ' +
    'version is stored and no device gets it; the same file with it makes them.',
  schema: { type: 'integer', minimum: 0 },
};

const checkUploadQuery: RequestHandler = (req, _res, next) => {
  refuseOthers(req, ['strict', 'activate', 'confirm']);
  confirmParameter(req);
  booleanParameter(req, 'strict');
  booleanParameter(req, 'activate');
  next();
};

function storeUpload(deps: ProfileUploadDeps): RequestHandler {
  const { api, profileImport } = deps;
  return async (req, res) => {
    const bytes = uploadedFile(req);
    const context = contextOf(res);
    const strict = booleanParameter(req, 'strict');
    const activate = req.query.activate === undefined || booleanParameter(req, 'activate');
    const confirm = confirmParameter(req);
    const checked = await profileImport.check(bytes, { strict });
    const work = async (trx: Transaction): Promise<Answer> => {
      const imported = await profileImport.store(trx, checked, context.actor.name);
      await auditUpload(trx, { checked, imported, context });
      const isNew = imported.outcome === 'updated' || confirm !== undefined;
      const applied = await applyIfConfirmed(api, trx, {
        id: imported.id,
        isNew,
        activate,
        confirm,
      });
      return uploadAnswer(api, trx, { ...imported, applied, context });
    };
    const idempotency = readIdempotency(req, bytes);
    sendAnswer(req, res, await performWrite(api.store, { context, idempotency, work }));
  };
}

/**
 * A new version is stored in any case. If it would change more devices than are confirmed, they keep the
 * version that they have.
 */
async function applyIfConfirmed(
  { effectCheck }: ApiContext,
  trx: Transaction,
  { id, confirm, ...change }: StoredUpload,
): Promise<UploadOutcome> {
  const held = await heldVersion(trx, id);
  const applied = await applyUpload(trx, id, change);
  if (applied.rollout !== undefined || !change.isNew || !change.activate) return applied;
  try {
    await effectCheck?.check(trx, confirm);
    return applied;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'confirmation_required') throw error;
    await holdVersion(trx, id, held);
    const detail =
      `The version is stored, and no device gets it yet: ${error.message}, with the same file; or ` +
      'roll it out (POST /api/v1/rollouts)';
    return { unconfirmed: { detail, ...error.details[0]?.meta } };
  }
}

interface StoredUpload {
  id: number;
  isNew: boolean;
  activate: boolean;
  confirm: number | undefined;
}

function confirmParameter({ query }: Request): number | undefined {
  const { confirm } = query;
  if (confirm === undefined) return undefined;
  if (typeof confirm === 'string' && /^\d{1,9}$/.test(confirm)) return Number(confirm);
  throw invalidParameter('confirm', 'confirm must be one whole number of devices');
}

interface Upload {
  checked: CheckedProfile;
  imported: ImportedProfile;
  context: RequestContext;
}

/** The contents may be secret, so they are named by their size and their keyed digest. */
async function auditUpload(trx: Transaction, { checked, imported, context }: Upload) {
  if (imported.outcome === 'unchanged') return;
  const { version, digest } = imported;
  await writeAudit(trx, {
    context,
    action: imported.outcome === 'created' ? 'profiles.create' : 'profiles.update',
    targetType: 'profiles',
    targetId: imported.id,
    outcome: 'success',
    changes: { current_version: [version === 1 ? null : version - 1, version] },
    details: {
      version,
      identifier: checked.record.identifier,
      uuid: checked.record.uuid,
      display_name: checked.record.display_name ?? undefined,
      size: checked.bytes.length,
      digest: digest.toString('hex'),
    },
  });
}

async function uploadAnswer(
  api: ApiContext,
  trx: Transaction,
  {
    id,
    outcome,
    payloadIds,
    warnings,
    applied,
    context,
  }: ImportedProfile & { applied: UploadOutcome; context: RequestContext },
): Promise<Answer> {
  const document = await resourcesDocument(api, 'profiles', { ids: id, trx, context });
  const resource = document.data as ResourceObject;
  const payloads = resource.relationships?.payloads;
  if (payloads)
    payloads.data = payloadIds.map((payload) => ({ type: 'profile_payloads', id: payload }));
  const answered: Document = { ...document, meta: { ...document.meta, warnings, ...applied } };
  const location = resource.links.self ?? undefined;
  return {
    status: outcome === 'unchanged' ? 200 : 201,
    document: answered,
    location,
  };
}
