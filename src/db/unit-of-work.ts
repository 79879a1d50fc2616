import type { Knex } from 'knex';
import type { Database } from './database.js';
import { toAppError } from './sqlstate.js';

/** What repositories work in; whoever calls them only hands it down. */
export type Transaction = Knex.Transaction;

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. The
 * outermost caller opens it and hands `trx` down. Database errors come out as AppError.
 */
export async function inTransaction<T>(
  db: Database,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  try {
    return await db.knex.transaction(work);
  } catch (error) {
    throw toAppError(error);
  }
}
