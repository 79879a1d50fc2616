import type { Knex } from 'knex';
import type { Database } from './database.js';
import { isConflictOfLocks, toAppError } from './sqlstate.js';

/** What repositories work in; whoever calls them only hands it down. */
export type Transaction = Knex.Transaction;

/** Runs `work` once the transaction is committed, and never when it is rolled back. */
export function afterCommit(trx: Transaction, work: () => void): void {
  trx.executionPromise.then(work, () => undefined);
}

const MOST_ATTEMPTS = 3;

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. The
 * outermost caller opens it and hands `trx` down. Database errors come out as AppError. When
 * PostgreSQL gives the transaction up to end a deadlock, `work` runs again from the start.
 */
export async function inTransaction<T>(
  db: Database,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.knex.transaction(work);
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isConflictOfLocks(error)) throw toAppError(error);
    }
  }
}
