import type { Request, Response } from 'express';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import type { DepAdministration } from '../../dep/dep-administration.js';
import { AppError } from '../../errors.js';
import { contextOf } from '../../http/requests/request-context.js';
import { hasRole } from '../../jsonapi/context.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { resourcesDocument } from '../../jsonapi/operations/item.js';
import { performWrite, readIdempotency } from '../../jsonapi/requests/idempotency.js';
import { type ApiOperation, type ApiRoute, itemSchema, jsonApiContent } from '../api-route.js';
import { auditRefusals } from '../audit-refusals.js';

import { booleanParameter, jsonBody, pathId, refuseOthers } from '../request-parts.js';

export interface DepSyncDeps {
  db: Database;
  engine: ApiContext;
  services: { dep: DepAdministration };
}

const AUDITED = { action: 'dep_accounts.sync', targetType: 'dep_accounts' };

/** A sync of an account of the enrollment program by hand; the clock asks for them too. */
export function depSyncRoutes(deps: DepSyncDeps): ApiRoute[] {
  const POST: ApiOperation = {
    operationId: 'syncDepAccount',
    tag: 'dep_accounts',
    role: 'operator',
    summary: 'Sync the devices of an account with Apple now',
    description:
      'Asks Apple in the background for what has changed; how far it is shows on the account ' +
      '(`sync_state`, `sync_pages`, `sync_devices`, then `sync_finished_at` or `sync_error`). It is ' +
      'asked every DEP_SYNC_INTERVAL anyway. With `full=true` all devices are read anew, and those ' +
      'that Apple no longer lists are marked as removed. 409 `no_dep_account` for an account ' +
      'without a server token.',
    parameters: [
      {
        name: 'full',
        in: 'query',
        description: 'Read all devices anew. Needs the role admin.',
        schema: { type: 'boolean', default: false },
      },
    ],
    answers: [
      {
        status: 202,
        description: 'The account, which is going to be synced.',
        content: [jsonApiContent(itemSchema('dep_accounts'))],
      },
    ],
    errors: [400, 404, 409, 413, 415, 422],
    handlers: [...jsonBody, (req, res) => sync(deps, req, res)],
    onError: auditRefusals(deps.db, AUDITED),
  };
  return [{ path: '/dep/accounts/{id}/sync', methods: { POST } }];
}

function readFull(req: Request, res: Response): boolean {
  refuseOthers(req, ['full']);
  const isFull = booleanParameter(req, 'full');
  if (isFull && !hasRole(contextOf(res).actor, 'admin')) {
    throw new AppError('forbidden', 403, 'full=true needs the role admin');
  }
  return isFull;
}

async function sync({ engine, services }: DepSyncDeps, req: Request, res: Response) {
  const id = pathId(req, 'dep_accounts');
  const isFull = readFull(req, res);
  const context = contextOf(res);
  const work = async (trx: Transaction) => {
    await services.dep.syncAccount(trx, id, { isFull });
    const event = { context, ...AUDITED, targetId: id, outcome: 'success' as const };
    await engine.audit(trx, { ...event, details: { full: isFull } });
    const document = await resourcesDocument(engine, 'dep_accounts', { ids: id, trx, context });
    return { status: 202, document };
  };
  const idempotency = readIdempotency(req);
  sendAnswer(req, res, await performWrite(engine.store, { context, idempotency, work }));
}
