import type { Request, RequestHandler, Response } from 'express';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import type { StoredVersion } from '../../db/devices/profile-repository.js';
import { AppError } from '../../errors.js';
import { writeAudit } from '../../events/audit.js';
import { contextOf } from '../../http/requests/request-context.js';
import { hasRole } from '../../jsonapi/context.js';
import type { FileChoice, ProfileRebuild } from '../../profiles/profile-rebuild.js';
import { type ApiOperation, type ApiParameter, fileAnswer } from '../api-route.js';
import { booleanParameter, integerParameter, pathId, refuseOthers } from '../request-parts.js';

export interface ProfileDownloadDeps {
  db: Database;
  profileRebuild: ProfileRebuild;
}

const PROFILE_TYPE = 'application/x-apple-aspen-config';

// Not an `action`: it answers with a file, not with a document.
/** Sends a profile as a file. */
export function downloadOperation(deps: ProfileDownloadDeps): ApiOperation {
  return {
    operationId: 'downloadProfile',
    summary: 'Download a configuration profile',
    description:
      'Rebuilt from what is stored of it, not signed unless asked for. A profile that holds secrets ' +
      'needs the role operator, and its download is audited.',
    tag: 'profiles',
    role: 'viewer',
    parameters: DOWNLOAD_PARAMETERS,
    answers: [fileAnswer('The file.', PROFILE_TYPE)],
    errors: [400, 404, 409],
    handlers: [sendFile(deps)],
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
    description: 'The number of the version, from 1; the current one by default.',
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
  const id = pathId(req, 'id', 'profiles');
  const isSigned = booleanParameter(req, 'signed');
  const isOriginal = booleanParameter(req, 'original');
  if (isSigned && isOriginal) {
    const source = { parameter: 'original' };
    const message = 'the original is sent exactly as uploaded: use either signed or original';
    throw new AppError('invalid_parameter', 400, message, { source });
  }
  const form = isOriginal ? 'original' : isSigned ? 'signed' : 'rebuilt';
  return { id, form, number: integerParameter(req, 'version') };
}

/** The line of audit is committed before the first byte leaves. */
function sendFile({ db, profileRebuild }: ProfileDownloadDeps): RequestHandler {
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

/** The identifier without characters that some file system refuses. */
function fileName({ identifier }: StoredVersion): string {
  const safe = identifier
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[._-]+/, '')
    .slice(0, 100);
  return `${safe === '' ? 'profile' : safe}.mobileconfig`;
}
