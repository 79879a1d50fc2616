import type { Transaction } from '../../db/connection/unit-of-work.js';
import { noteSyncRequest } from '../../db/dep/dep-sync-requests.js';
import { AppError, notFound } from '../../errors.js';
import type { DepJobs } from '../dep-jobs.js';

/**
 * Has the account synced after the commit; `isFull`: all its devices are read anew. AppError 404 for
 * an account that is not there, 409 `no_dep_account` for one without a token.
 */
export async function requestSync(
  trx: Transaction,
  jobs: DepJobs,
  { accountId, isFull }: { accountId: number; isFull: boolean },
): Promise<void> {
  const isNoted = await noteSyncRequest(trx, { accountId, isFull });
  if (isNoted === undefined) throw notFound(`dep_accounts ${accountId}`);
  if (!isNoted) {
    const message = 'The account has no server token: upload one with POST /dep/stoken/upload';
    throw new AppError('no_dep_account', 409, message);
  }
  await jobs.sync(trx, accountId);
}
