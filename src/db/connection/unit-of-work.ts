import type { Knex } from 'knex';
import type { Database } from './database.js';
import { isConflictOfLocks, toAppError } from './sqlstate.js';

/** The open transaction that callers pass to repositories. */
export type Transaction = Knex.Transaction;

/** Runs `work` once the transaction is committed, and never when it is rolled back. */
export function afterCommit(trx: Transaction, work: () => void): void {
  trx.executionPromise.then(work, () => undefined);
}

/**
 * Runs `work` in one transaction. Rejects with the first failure: when the connection is lost the
 * roll-back fails, too, and knex would report only that.
 */
export async function runTransaction<T>(
  knex: Knex,
  work: (trx: Transaction) => Promise<T>,
): Promise<T> {
  const failures: unknown[] = [];
  const attempt = async (trx: Transaction) => {
    // Knex calls this even if it could not begin, and then rejects with the reason.
    if (trx.isCompleted()) throw new Error('the transaction has not begun');
    try {
      return await work(trx);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  };
  try {
    return await knex.transaction(attempt);
  } catch (error) {
    throw failures.length > 0 ? failures[0] : error;
  }
}

const MAX_ATTEMPTS = 3;

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. The outermost
 * caller opens it and passes `trx` down. Database errors become AppErrors. When PostgreSQL aborts the
 * transaction to end a deadlock, `work` runs again from the start.
 */
export async function inTransaction<T>(
  db: Database,
  work: (trx: Transaction) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await runTransaction(db.knex, work);
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isConflictOfLocks(error)) throw toAppError(error);
    }
  }
}
