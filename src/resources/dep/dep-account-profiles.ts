import type {
  RelateOperation,
  RelationshipOperations,
} from '../../jsonapi/definition/definition.js';
import type { ResourceServices } from '../services.js';
import { movedTo, requireMovable } from './dep-profile-state.js';
import { depProfiles } from './dep-profiles.js';

/** The profiles of an account, changed from the side of the account. */
export const profilesOfAccount: RelationshipOperations<ResourceServices> = {
  add: (operation) => move(operation, operation.id),
  remove: (operation) => move(operation, null),
};

async function move(
  operation: RelateOperation<ResourceServices>,
  accountId: number | null,
): Promise<void> {
  const { trx, store, services, relatedIds } = operation;
  const shape = depProfiles;
  for (const id of relatedIds) {
    const columns = ['dep_account_id'];
    const profile = await store.find(trx, { shape, id, columns, lock: true });
    if (profile === undefined || profile.dep_account_id === accountId) continue;
    if (profile.dep_account_id !== null) await requireMovable(operation, id);
    await store.update(trx, { shape, id, values: movedTo(accountId) });
    if (accountId !== null) await services.depServices.defineProfile(trx, id);
  }
}
