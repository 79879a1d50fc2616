import type { Request, RequestHandler, Response } from 'express';
import type { Database } from '../db/database.js';
import type { StoredVersion } from '../db/profile-repository.js';
import { inTransaction, type Transaction } from '../db/unit-of-work.js';
import { AppError, notFound } from '../errors.js';
import { writeAudit } from '../events/audit.js';
import { contextOf } from '../http/request-context.js';
import { upload, uploadedFile } from '../http/uploads.js';
import { hasRole } from '../jsonapi/context.js';
import type { Document, ResourceObject } from '../jsonapi/document.js';
import type { Answer, Engine } from '../jsonapi/engine.js';
import { performWrite, readIdempotency } from '../jsonapi/idempotency.js';
import { resourcesDocument } from '../jsonapi/item.js';
import { sendAnswer } from '../jsonapi/send.js';
import { parseId } from '../jsonapi/values.js';
import type { ImportedProfile, ProfileImport } from '../profiles/profile-import.js';
import type { FileChoice, ProfileRebuild } from '../profiles/profile-rebuild.js';
import type { ApiOperation, ApiParameter, ApiRoute } from './api-route.js';
import { itemSchema, jsonApiContent } from './documents.js';
import { booleanParameter, integerParameter, refuseOthers } from './query-parameters.js';

export interface ProfileFileDeps {
  db: Database;
  engine: Engine;
  profileImport: ProfileImport;
  profileRebuild: ProfileRebuild;
}

const MAX_BYTES = 5 * 1024 * 1024;
const PROFILE_TYPE = 'application/x-apple-aspen-config';

/** Configuration profiles as files: taken in and given back. */
export function profileFileRoutes(deps: ProfileFileDeps): ApiRoute[] {
  return [
    { path: '/upload/profiles', methods: { POST: uploadOperation(deps) } },
    { path: '/download/profiles/{id}', methods: { GET: downloadOperation(deps) } },
  ];
}

function uploadOperation(deps: ProfileFileDeps): ApiOperation {
  const file = { type: 'string', contentMediaType: PROFILE_TYPE };
  const schema = { type: 'object', properties: { file }, required: ['file'] };
  const content = [jsonApiContent(itemSchema('profiles'))];
  return {
    operationId: 'uploadProfile',
    summary: 'Upload a configuration profile',
    description:
      'A property list, XML or binary, on its own or signed; at most 5 MiB. The profile of the same ' +
      'PayloadIdentifier gets a new version. What Apple’s schema does not know is told in ' +
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
    handlers: [checkUploadQuery, upload({ field: 'file', maxBytes: MAX_BYTES }), takeUpload(deps)],
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

function takeUpload(deps: ProfileFileDeps): RequestHandler {
  const { engine, profileImport } = deps;
  return async (req, res) => {
    const bytes = uploadedFile(req);
    const context = contextOf(res);
    const checked = profileImport.check(bytes, { strict: booleanParameter(req, 'strict') });
    const work = async (trx: Transaction): Promise<Answer> => {
      const imported = await profileImport.store(trx, checked, context.actor.name);
      await auditUpload(trx, imported, res);
      return uploadAnswer(engine, trx, imported);
    };
    const idempotency = readIdempotency(req, bytes);
    sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
  };
}

async function auditUpload(trx: Transaction, imported: ImportedProfile, res: Response) {
  if (imported.outcome === 'unchanged') return;
  await writeAudit(trx, {
    context: contextOf(res),
    action: imported.outcome === 'created' ? 'profiles.create' : 'profiles.update',
    targetType: 'profiles',
    targetId: imported.id,
    outcome: 'success',
    details: { version: imported.version },
  });
}

async function uploadAnswer(
  engine: Engine,
  trx: Transaction,
  { id, outcome, payloadIds, warnings }: ImportedProfile,
): Promise<Answer> {
  const document = await resourcesDocument(engine, 'profiles', { ids: id, trx });
  const resource = document.data as ResourceObject;
  const payloads = resource.relationships?.payloads;
  if (payloads)
    payloads.data = payloadIds.map((payload) => ({ type: 'profile_payloads', id: payload }));
  const told: Document = { ...document, meta: { ...document.meta, warnings } };
  const location = resource.links.self ?? undefined;
  return {
    status: outcome === 'unchanged' ? 200 : 201,
    document: told,
    ...(location && { location }),
  };
}

function downloadOperation(deps: ProfileFileDeps): ApiOperation {
  const schema = { type: 'string', contentMediaType: 'application/octet-stream' };
  return {
    operationId: 'downloadProfile',
    summary: 'Download a configuration profile',
    description:
      'Rebuilt from what is stored of it, not signed unless asked for. A profile that holds secrets ' +
      'needs the role operator, and its download is audited.',
    tag: 'profiles',
    role: 'viewer',
    parameters: DOWNLOAD_PARAMETERS,
    answers: [
      { status: 200, description: 'The file.', content: [{ mediaType: PROFILE_TYPE, schema }] },
    ],
    errors: [400, 404, 409],
    handlers: [giveFile(deps)],
  };
}

const DOWNLOAD_PARAMETERS: ApiParameter[] = [
  {
    name: 'signed',
    in: 'query',
    description: 'Signed by the server’s TLS certificate; 409 without one.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'original',
    in: 'query',
    description: 'The very bytes that were uploaded.',
    schema: { type: 'boolean', default: false },
  },
  {
    name: 'version',
    in: 'query',
    description: 'The number of the version, from 1; the current one unless told.',
    schema: { type: 'integer', minimum: 1 },
  },
];

interface DownloadChoice extends FileChoice {
  id: number;
  number: number | undefined;
}

function choiceOf(req: Request): DownloadChoice {
  refuseOthers(
    req,
    DOWNLOAD_PARAMETERS.map(({ name }) => name),
  );
  const given = String(req.params.id);
  const id = parseId(given);
  if (id === undefined) throw notFound(`profiles ${given}`);
  const isSigned = booleanParameter(req, 'signed');
  const isOriginal = booleanParameter(req, 'original');
  if (isSigned && isOriginal) {
    const source = { parameter: 'original' };
    const message = 'the original is given as it came: signed and original exclude each other';
    throw new AppError('invalid_parameter', 400, message, { source });
  }
  const form = isOriginal ? 'original' : isSigned ? 'signed' : 'rebuilt';
  return { id, form, number: integerParameter(req, 'version') };
}

/** The line of audit is committed before the first byte leaves. */
function giveFile({ db, profileRebuild }: ProfileFileDeps): RequestHandler {
  return async (req, res) => {
    const { id, number, form } = choiceOf(req);
    const file = await inTransaction(db, async (trx) => {
      const version = await profileRebuild.version(trx, id, number);
      if (version.holds_secrets) await auditDownload(trx, { id, version, form }, res);
      const bytes = await profileRebuild.file(trx, id, { ...version, form });
      return { bytes, name: fileName(version) };
    });
    res.attachment(file.name).setHeader('Content-Type', PROFILE_TYPE);
    res.send(file.bytes);
  };
}

async function auditDownload(
  trx: Transaction,
  { id, version, form }: { id: number; version: StoredVersion } & FileChoice,
  res: Response,
): Promise<void> {
  const context = contextOf(res);
  if (!hasRole(context.actor, 'operator')) {
    throw new AppError('forbidden', 403, 'this profile holds secrets: it needs the role operator');
  }
  await writeAudit(trx, {
    context,
    action: 'profiles.download',
    targetType: 'profiles',
    targetId: id,
    outcome: 'success',
    details: { version: version.number, form },
  });
}

/** Of the identifier, what every file system takes. */
function fileName({ identifier }: StoredVersion): string {
  const safe = identifier
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._-]+/, '')
    .slice(0, 100);
  return `${safe === '' ? 'profile' : safe}.mobileconfig`;
}
