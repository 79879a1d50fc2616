import type { AssignmentOutcome, DueAssignment } from '../../db/dep/dep-assignment-repository.js';
import type { DepApi } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import { outcomesOf, refusedOutcomes } from './assignment-messages.js';

/** Serial numbers that are to have the same: the definition of the UUID, or none. */
export interface Batch {
  uuid: string | null;
  profileId: number | null;
  rows: DueAssignment[];
}

type Store = (outcomes: AssignmentOutcome[]) => Promise<void>;

/** Refusals in a row after which it is not a serial number that Apple finds fault with. */
const MOST_REFUSALS = 40;

/**
 * Tells Apple of a batch, and `store` of all that came of it, call by call. A serial number that
 * makes Apple refuse the batch is found by halving it. Any other ProgramError is passed on; what
 * was not stored by then is still to be told.
 */
export async function sendBatch(api: DepApi, batch: Batch, store: Store): Promise<void> {
  const parts = [batch.rows];
  let refusals = 0;
  for (let rows = parts.pop(); rows !== undefined; rows = parts.pop()) {
    const told = await ask(api, batch.uuid, rows);
    if (!(told instanceof DepError)) {
      refusals = 0;
      await store(told);
      continue;
    }
    refusals += 1;
    if (rows.length === 1 || refusals >= MOST_REFUSALS) {
      await store(refusedOutcomes(rows, told.text));
      continue;
    }
    const half = Math.ceil(rows.length / 2);
    parts.push(rows.slice(half), rows.slice(0, half));
  }
}

async function ask(
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
