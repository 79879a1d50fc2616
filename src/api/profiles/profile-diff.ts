import type { Request, Response } from 'express';
import { z } from 'zod';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, jsonApiContent } from '../api-route.js';
import { pathId, refuseParameters } from '../request-parts.js';
import type { ProfileDownloadDeps } from './profile-download.js';

export type ProfileDiffDeps = ProfileDownloadDeps & { api: ApiContext };

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const DIFF = {
  type: 'profile_diffs',
  attributes: z.strictObject({
    from: z.int().min(1).describe('The number of the former version.'),
    to: z.int().min(1).describe('The number of the version that it is compared with.'),
    total: z.int().min(0).describe('All changes; the first thousand are listed.'),
    changes: z.array(
      z.strictObject({
        change: z.enum(['added', 'removed', 'changed']),
        payload: z
          .string()
          .nullable()
          .describe('`PayloadIdentifier` of its payload; null for a key of the profile itself.'),
        payload_type: z.string().nullable().describe('`PayloadType` of its payload.'),
        path: z
          .string()
          .describe('JSON pointer within the payload or the profile; empty for a whole payload.'),
        before: value.describe(
          'In `from`; null where there is none. Secrets are asterisks, data are shown by their length.',
        ),
        after: value.describe('The same in `to`.'),
      }),
    ),
  }),
};

/** Shows the keys in which two versions of a profile differ. */
export function diffOperation(deps: ProfileDiffDeps): ApiOperation {
  return {
    operationId: 'diffProfileVersions',
    summary: 'Compare two versions of a profile',
    description:
      'The keys that were added, removed or changed from version `from` to version `to`, by their ' +
      'numbers. Payloads are compared with those of the same PayloadIdentifier.',
    tag: 'profiles',
    role: 'viewer',
    answers: [
      {
        status: 200,
        description: 'The changes.',
        content: [jsonApiContent(ownDocumentSchema(DIFF))],
      },
    ],
    errors: [400, 404],
    handlers: [refuseParameters, (req, res) => sendDiff(deps, req, res)],
  };
}

async function sendDiff(
  { db, api, profileRebuild }: ProfileDiffDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const id = pathId(req, 'id', 'profiles');
  const from = pathId(req, 'from', 'profile version');
  const to = pathId(req, 'to', 'profile version');
  const diff = await inTransaction(db, (trx) => profileRebuild.diff(trx, id, { from, to }));
  const self = `${api.basePath}/profiles/${id}/versions/${from}/diff/${to}`;
  const attributes = { from, to, ...diff };
  sendAnswer(req, res, { status: 200, document: ownDocument(DIFF, { id, attributes, self }) });
}
