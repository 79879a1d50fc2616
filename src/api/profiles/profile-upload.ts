import type { RequestHandler } from 'express';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { writeAudit } from '../../events/audit.js';
import type { BodyReader } from '../../http/bodies/body-reader.js';
import { upload, uploadedFile } from '../../http/bodies/uploads.js';
import { contextOf } from '../../http/requests/request-context.js';
import type { RequestContext } from '../../jsonapi/context.js';
import type { Document, ResourceObject } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { Answer, ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import type { CheckedProfile } from '../../profiles/check-file.js';
import type { ImportedProfile, ProfileImport } from '../../profiles/profile-import.js';
import { type ApiOperation, type ApiParameter, itemSchema, jsonApiContent } from '../api-route.js';
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
  const file = { type: 'string', format: 'binary' };
  const schema = { type: 'object', properties: { file }, required: ['file'] };
  const content = [jsonApiContent(itemSchema('profiles'))];
  return {
    operationId: 'uploadProfile',
    summary: 'Upload a configuration profile',
    description:
      'A property list, XML or binary, on its own or signed; at most 5 MiB. The profile of the same ' +
      'PayloadIdentifier gets a new version. What Apple’s schema does not know is listed in ' +
      '`meta.warnings`. Encrypted profiles are not supported.',
    tag: 'profiles',
    role: 'operator',
    parameters: [strictParameter],
    requestBody: { required: true, content: [{ mediaType: 'multipart/form-data', schema }] },
    answers: [
      { status: 200, description: 'The same file is the current version already.', content },
      { status: 201, description: 'The profile, with the ids of its payloads.', content },
    ],
    errors: [400, 413, 415, 422],
    handlers: [
      checkUploadQuery,
      upload({ field: 'file', maxBytes: MAX_BYTES, bodies: deps.uploads }),
      takeUpload(deps),
    ],
  };
}

const strictParameter: ApiParameter = {
  name: 'strict',
  in: 'query',
  description: 'Refuse the profile for what would be a warning.',
  schema: { type: 'boolean', default: false },
};

const checkUploadQuery: RequestHandler = (req, _res, next) => {
  refuseOthers(req, ['strict']);
  booleanParameter(req, 'strict');
  next();
};

function takeUpload(deps: ProfileUploadDeps): RequestHandler {
  const { api, profileImport } = deps;
  return async (req, res) => {
    const bytes = uploadedFile(req);
    const context = contextOf(res);
    const strict = booleanParameter(req, 'strict');
    const checked = await profileImport.check(bytes, { strict });
    const work = async (trx: Transaction): Promise<Answer> => {
      const imported = await profileImport.store(trx, checked, context.actor.name);
      await auditUpload(trx, { checked, imported, context });
      return uploadAnswer(api, trx, { ...imported, context });
    };
    const idempotency = readIdempotency(req, bytes);
    sendAnswer(req, res, await performWrite(api.store, { context, idempotency, work }));
  };
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
  { id, outcome, payloadIds, warnings, context }: ImportedProfile & { context: RequestContext },
): Promise<Answer> {
  const document = await resourcesDocument(api, 'profiles', { ids: id, trx, context });
  const resource = document.data as ResourceObject;
  const payloads = resource.relationships?.payloads;
  if (payloads)
    payloads.data = payloadIds.map((payload) => ({ type: 'profile_payloads', id: payload }));
  const answered: Document = { ...document, meta: { ...document.meta, warnings } };
  const location = resource.links.self ?? undefined;
  return {
    status: outcome === 'unchanged' ? 200 : 201,
    document: answered,
    location,
  };
}
