import type { DepAdministration } from '../../dep/dep-administration.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface DepSyncDeps {
  api: ApiContext;
  services: { dep: DepAdministration };
}

/** Requests a sync of an account; the server also starts them by DEP_SYNC_INTERVAL. */
export function depSyncRoutes({ api, services }: DepSyncDeps): ApiRoute[] {
  const sync = action(api, {
    method: 'POST',
    path: '/dep/accounts/{id}/sync',
    operationId: 'syncDepAccount',
    tag: 'dep_accounts',
    role: 'operator',
    summary: 'Sync the devices of an account with Apple now',
    description:
      'Asks Apple in the background for what has changed; its progress shows on the account ' +
      '(`sync_state`, `sync_pages`, `sync_devices`, then `sync_finished_at` or `sync_error`). It is ' +
      'asked every DEP_SYNC_INTERVAL anyway. With `full=true` all devices are read anew, and those ' +
      'that Apple no longer lists are marked as removed. 409 `no_dep_account` for an account ' +
      'without a server token.',
    flags: { full: { description: 'Read all devices anew. Needs the role admin.', role: 'admin' } },
    answer: {
      status: 202,
      description: 'The account, which is going to be synced.',
      shows: 'dep_accounts',
    },
    audit: { action: 'dep_accounts.sync', targetType: 'dep_accounts', refusals: [] },
    run: async (trx, { id, flags }) => {
      await services.dep.syncAccount(trx, id, { isFull: flags.full });
      return { details: { full: flags.full } };
    },
  });
  return [sync];
}
