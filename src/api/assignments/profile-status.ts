import { z } from 'zod';
import { countItems } from '../../db/assignments/item-repository.js';
import type { Database } from '../../db/connection/database.js';
import { toAppError } from '../../db/connection/sqlstate.js';
import { notFound } from '../../errors.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { pathId, refuseParameters } from '../request-parts.js';

export interface ProfileStatusDeps {
  db: Database;
  api: ApiContext;
}

const count = z.int().min(0);

const STATUS = {
  type: 'profile_statuses',
  attributes: z.strictObject({
    total: count.describe('Devices that should have it, or have to lose it.'),
    states: z.record(z.string(), count).describe('How many are in each state.'),
    reasons: z
      .array(z.strictObject({ state: z.string(), reason_code: z.string(), count }))
      .describe('Why, of those with a reason.'),
  }),
};

/** Counts the devices of a profile by state and reason. */
export function profileStatusRoutes({ db, api }: ProfileStatusDeps): ApiRoute[] {
  const GET: ApiOperation = {
    operationId: 'readProfileStatus',
    tag: 'profiles',
    role: 'viewer',
    summary: 'Count the devices of a profile by state and reason',
    description: '`/profiles/{id}/devices?filter[state]=failed` lists them.',
    answers: [
      {
        status: 200,
        description: 'The counts.',
        content: [jsonApiContent(ownDocumentSchema(STATUS))],
      },
    ],
    errors: [400, 404],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const id = pathId(req, 'id', 'profiles');
        const counts = await countItems(db.knex, id).catch((error: unknown) => {
          throw toAppError(error);
        });
        if (counts === undefined) throw notFound(`profiles ${id}`);
        const states: Record<string, number> = {};
        for (const { state, count: some } of counts) states[state] = (states[state] ?? 0) + some;
        const total = counts.reduce((sum, { count: some }) => sum + some, 0);
        const reasons = counts.filter(({ reason_code: code }) => code !== null);
        const self = `${api.basePath}/profiles/${id}/status`;
        const document = ownDocument(STATUS, { id, attributes: { total, states, reasons }, self });
        sendAnswer(req, res, { status: 200, document });
      },
    ],
  };
  return [{ path: '/profiles/{id}/status', methods: { GET } }];
}
