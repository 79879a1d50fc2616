import { z } from 'zod';
import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import {
  type AccountDetailColumns,
  confirmAccount,
  type FormerServer,
  listAccountsOfServer,
  lockFormerServer,
} from '../../db/dep/dep-account-repository.js';
import { AppError } from '../../errors.js';
import type { Task } from '../../jobs/task.js';
import type { Logger } from '../../logger.js';
import type { AccountDetail, DepAccount, DepAccounts, DepApi } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import { CONFIRM_ACCOUNT, type DepJobs } from '../dep-jobs.js';

export interface ConfirmAccountDeps {
  db: Database;
  accounts: DepAccounts;
  jobs: DepJobs;
  logger: Logger;
}

const PAYLOAD = z.object({ accountId: z.int() });
const DUPLICATE_ADVICE =
  'Delete all but one of them (DELETE /api/v1/dep/accounts/ID). If the remaining one lacks the token of ' +
  "the server, download a certificate for it (GET /dep/certificate/download?account=ID), upload it to Apple's " +
  'portal, and upload the token from there with POST /dep/stoken/upload?force=true.';
/** Retry delay if Apple is unreachable or throttles, and names no time. */
const PAUSE_MS = 60_000;

interface FetchedAccount extends DepAccount {
  detail: AccountDetail;
}

/**
 * Fetches the account details from Apple and schedules a sync. Failures are written to the account by
 * DepAccounts; only temporary ones are retried.
 */
export function createConfirmAccountTask(deps: ConfirmAccountDeps): Task<{ accountId: number }> {
  return {
    name: CONFIRM_ACCOUNT,
    parse: (payload) => PAYLOAD.parse(payload),
    async run({ accountId }, { signal }) {
      try {
        const fetch = async (api: DepApi, account: DepAccount): Promise<FetchedAccount> => {
          return { ...account, detail: await api.account() };
        };
        await confirm(deps, await deps.accounts.use(accountId, fetch, { signal }));
      } catch (error) {
        await afterFailure(deps, accountId, error);
      }
    },
  };
}

/** Stores nothing if the account has another server's token by now, which has a job of its own. */
async function confirm(
  { db, jobs, logger }: ConfirmAccountDeps,
  { id, consumerKey, detail }: FetchedAccount,
): Promise<void> {
  const remarks = await inTransaction(db, async (trx) => {
    const former = await lockFormerServer(trx, { id, consumer_key: consumerKey });
    if (former === undefined) return [];
    const columns = columnsOf(detail);
    const { server_uuid } = columns;
    const others = await listAccountsOfServer(trx, { id, server_uuid });
    const found = [...changeRemarks(former, columns), ...duplicateRemarks(others)];
    await confirmAccount(trx, id, {
      ...columns,
      status_text: found.length > 0 ? found.join('; ') : null,
      status_advice: others.length > 0 ? DUPLICATE_ADVICE : null,
    });
    await jobs.sync(trx, id);
    return found;
  });
  for (const remark of remarks) logger.warn({ accountId: id }, remark);
}

function columnsOf(detail: AccountDetail): AccountDetailColumns {
  return {
    server_name: detail.serverName,
    server_uuid: detail.serverUuid,
    admin_id: detail.adminId,
    facilitator_id: detail.facilitatorId,
    org_name: detail.orgName,
    org_email: detail.orgEmail,
    org_phone: detail.orgPhone,
    org_address: detail.orgAddress,
    org_id: detail.orgId,
    org_id_hash: detail.orgIdHash,
    org_type: detail.orgType,
    org_version: detail.orgVersion,
  };
}

/** Both accounts would list the same devices and assign their own default profiles. */
function duplicateRemarks(others: number[]): string[] {
  if (others.length === 0) return [];
  const ids = others.join(', ');
  const whose = others.length === 1 ? `the account ${ids} is` : `the accounts ${ids} are`;
  return [`${whose} of the same server at Apple: keep one account per server`];
}

function changeRemarks(former: FormerServer, now: FormerServer): string[] {
  const names = ['server_uuid', 'org_id'] as const;
  const changes = names.flatMap((name) => {
    const [was, is] = [former[name], now[name]];
    return was === null || is === null || isSame(was, is) ? [] : `${name} was ${was}, is now ${is}`;
  });
  if (changes.length === 0) return [];
  return [`the token belongs to another server at Apple than before: ${changes.join('; ')}`];
}

/** UUIDs come with and without dashes. */
function isSame(one: string, other: string): boolean {
  const plain = (text: string) => text.replaceAll('-', '').toLowerCase();
  return plain(one) === plain(other);
}

async function afterFailure(
  { db, jobs }: ConfirmAccountDeps,
  accountId: number,
  error: unknown,
): Promise<void> {
  // The account was deleted, or lost its token, after the job was added.
  if (error instanceof AppError && (error.status === 404 || error.status === 409)) return;
  if (!(error instanceof DepError)) throw error;
  if (error.kind !== 'throttled' && error.kind !== 'unreachable') return;
  const runAt = error.retryAt ?? new Date(Date.now() + PAUSE_MS);
  await inTransaction(db, (trx) => jobs.confirm(trx, accountId, { runAt }));
}
