import type { Request, Response } from 'express';
import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { toAppError } from '../../db/connection/sqlstate.js';
import { type DepFunnel, readFunnel } from '../../db/dep/dep-device-funnel.js';
import { notFound } from '../../errors.js';
import type { Document } from '../../jsonapi/documents/document.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { pathId, refuseParameters } from '../request-parts.js';

export interface DepFunnelRouteDeps {
  db: Database;
  api: ApiContext;
}

const count = z.int().min(0);

const FUNNEL = {
  type: 'dep_funnels',
  attributes: z.strictObject({
    stages: z.strictObject({
      unassigned: count.describe('Apple has no profile for them.'),
      assigned: count.describe('Apple has a profile, and the device has not fetched it.'),
      pushed: count.describe('The device has fetched it.'),
      contacted: count.describe('It has asked this server for its enrollment since.'),
      enrolled: count.describe('It is enrolled.'),
      removed: count.describe('Apple lists them no longer.'),
    }),
    total: count.describe('All that Apple lists, in whatever stage but `removed`.'),
    assigned_or_beyond: count.describe('Assigned, pushed, contacted or enrolled.'),
    pushed_or_beyond: count.describe('Pushed, contacted or enrolled.'),
    contacted_or_beyond: count.describe('Contacted or enrolled.'),
    enrolled: count.describe('As in `stages`.'),
    removed: count.describe('As in `stages`.'),
    not_listed: count.describe(
      'Assigned here, though Apple has never listed them in the account: counted in no stage.',
    ),
    failing: count.describe('With a `last_error`, listed or not.'),
    assignment_due: count.describe(
      'Whose profile Apple does not know yet; without those whose profile Apple does not have.',
    ),
  }),
};

/** Counts the devices of an account by stage. */
export function depFunnelRoutes(deps: DepFunnelRouteDeps): ApiRoute[] {
  const GET: ApiOperation = {
    operationId: 'readDepFunnel',
    tag: 'dep_accounts',
    role: 'viewer',
    summary: 'Count the devices of an account by stage',
    description:
      'From unassigned by assigned (Apple has a profile for it), pushed (the device has fetched ' +
      'it) and contacted (it has called this server) to enrolled. `/dep/devices` lists them: ' +
      '`?filter[stage]=assigned`.',
    answers: [
      {
        status: 200,
        description: 'The counts.',
        content: [jsonApiContent(ownDocumentSchema(FUNNEL))],
      },
    ],
    errors: [400, 404],
    handlers: [refuseParameters, (req, res) => answer(deps, req, res)],
  };
  return [{ path: '/dep/accounts/{id}/funnel', methods: { GET } }];
}

async function answer({ db, api }: DepFunnelRouteDeps, req: Request, res: Response) {
  const id = pathId(req, 'id', 'dep_accounts');
  const funnel = await readFunnel(db, id).catch((error: unknown) => {
    throw toAppError(error);
  });
  if (funnel === undefined) throw notFound(`dep_accounts ${id}`);
  sendAnswer(req, res, { status: 200, document: documentOf(funnel, id, api.basePath) });
}

function documentOf(funnel: DepFunnel, id: number, basePath: string): Document {
  const { stages, notListed, failing, assignmentDue } = funnel;
  const { removed, ...present } = stages;
  const total = Object.values(present).reduce((sum, count) => sum + count, 0);
  const contacted = present.enrolled + present.contacted;
  const pushed = contacted + present.pushed;
  const attributes = {
    stages,
    total,
    assigned_or_beyond: pushed + present.assigned,
    pushed_or_beyond: pushed,
    contacted_or_beyond: contacted,
    enrolled: present.enrolled,
    removed,
    not_listed: notListed,
    failing,
    assignment_due: assignmentDue,
  };
  return ownDocument(FUNNEL, { id, attributes, self: `${basePath}/dep/accounts/${id}/funnel` });
}
