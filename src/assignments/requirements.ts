import {
  lockRequirements,
  type RequiredItems,
  requirementsLeadingBack,
} from '../db/assignments/requirements.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { validationError } from '../errors.js';

/** Which items an assignment waits for. */
export class Requirements {
  /** Call this before adding requirements. */
  begin(trx: Transaction): Promise<void> {
    return lockRequirements(trx);
  }

  /**
   * AppError 422 if the profiles, which were just added, require the assignment's own profile: no device could
   * install either. `at`: JSON pointer to the member that names them.
   */
  async check(trx: Transaction, { at, ...items }: RequiredItems & { at: string }): Promise<void> {
    const back = await requirementsLeadingBack(trx, items);
    if (back.length === 0) return;
    const faults = back.map(({ id, identifier }) => ({
      detail: `profile ${id} (${identifier}) is the assigned item itself, or waits for it: leave it out`,
      source: { pointer: at },
    }));
    throw validationError(faults);
  }
}
