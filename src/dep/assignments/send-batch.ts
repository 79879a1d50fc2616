import type { AssignmentOutcome, DueAssignment } from '../../db/dep/dep-assignment-repository.js';
import type { DepApi } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import { outcomesOf, refusedOutcomes } from './assignment-messages.js';

/** Serial numbers to be assigned the same definition. */
export interface Batch {
  /** UUID of the definition at Apple; null: the profile is removed. */
  uuid: string | null;
  profileId: number | null;
  rows: DueAssignment[];
}

type Store = (outcomes: AssignmentOutcome[]) => Promise<void>;

/** Refusals in a row after which the reason is not a single bad serial number. */
const MAX_REFUSALS = 40;

/**
 * Sends a batch to Apple and calls `store` with the outcomes of each call. If Apple refuses a batch,
 * halving it finds the serial number at fault. Any other DepError is rethrown; rows without a stored
 * outcome are then still due.
 */
export async function sendBatch(api: DepApi, batch: Batch, store: Store): Promise<void> {
  const parts = [batch.rows];
  let refusals = 0;
  for (let rows = parts.pop(); rows !== undefined; rows = parts.pop()) {
    const outcome = await send(api, batch.uuid, rows);
    if (!(outcome instanceof DepError)) {
      refusals = 0;
      await store(outcome);
      continue;
    }
    refusals += 1;
    if (rows.length === 1 || refusals >= MAX_REFUSALS) {
      await store(refusedOutcomes(rows, outcome.text));
      continue;
    }
    const half = Math.ceil(rows.length / 2);
    parts.push(rows.slice(half), rows.slice(0, half));
  }
}

async function send(
  api: DepApi,
  uuid: string | null,
  rows: DueAssignment[],
): Promise<AssignmentOutcome[] | DepError> {
  const serials = rows.map(({ serial }) => serial);
  try {
    const results = await (uuid === null
      ? api.removeProfiles(serials)
      : api.assignProfile(uuid, serials));
    return outcomesOf(rows, results);
  } catch (error) {
    if (error instanceof DepError && error.kind === 'refused') return error;
    throw error;
  }
}
