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
  'Delete all but one of them (DELETE /api/v1/dep/accounts/ID). If the one that stays has not the token ' +
  "of the server, download a certificate for it (GET /dep/certificate/download?account=ID), upload it to Apple's " +
  'portal, and the token from there with POST /dep/stoken/upload?force=true.';
/** Apple's service was not there, or had enough. */
const PAUSE_MS = 60_000;

interface Answered extends DepAccount {
  detail: AccountDetail;
}

/**
 * Asks Apple whose token an account has; a sync follows. What goes wrong is on the account by then,
 * and only what passes by itself is tried again.
 */
export function createConfirmAccountTask(deps: ConfirmAccountDeps): Task<{ accountId: number }> {
  return {
    name: CONFIRM_ACCOUNT,
    parse: (payload) => PAYLOAD.parse(payload),
    async run({ accountId }, { signal }) {
      try {
        const ask = async (api: DepApi, account: DepAccount): Promise<Answered> => {
          return { ...account, detail: await api.account() };
        };
        await confirm(deps, await deps.accounts.use(accountId, ask, { signal }));
      } catch (error) {
        await afterFailure(deps, accountId, error);
      }
    },
  };
}

/** Nothing of it where the account has got another server's token meanwhile: that is asked about too. */
async function confirm(
  { db, jobs, logger }: ConfirmAccountDeps,
  { id, consumerKey, detail }: Answered,
): Promise<void> {
  const remarks = await inTransaction(db, async (trx) => {
    const former = await lockFormerServer(trx, { id, consumer_key: consumerKey });
    if (former === undefined) return [];
    const columns = columnsOf(detail);
    const { server_uuid } = columns;
    const others = await listAccountsOfServer(trx, { id, server_uuid });
    const told = [...changeRemarks(former, columns), ...duplicateRemarks(others)];
    await confirmAccount(trx, id, {
      ...columns,
      status_text: told.length > 0 ? told.join('; ') : null,
      status_advice: others.length > 0 ? DUPLICATE_ADVICE : null,
    });
    await jobs.sync(trx, id);
    return told;
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

/** The same device would be listed by both, and each would give it its own default profile. */
function duplicateRemarks(others: number[]): string[] {
  if (others.length === 0) return [];
  const ids = others.join(', ');
  const whose = others.length === 1 ? `the account ${ids} is` : `the accounts ${ids} are`;
  return [`${whose} of the same server at Apple: there should be one account of it`];
}

function changeRemarks(former: FormerServer, now: FormerServer): string[] {
  const names = ['server_uuid', 'org_id'] as const;
  const changes = names.flatMap((name) => {
    const [was, is] = [former[name], now[name]];
    return was === null || is === null || isSame(was, is) ? [] : `${name} was ${was}, is now ${is}`;
  });
  if (changes.length === 0) return [];
  return [`the token is of another server at Apple than before: ${changes.join('; ')}`];
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
  // Gone, or without a token, since the job was added.
  if (error instanceof AppError && (error.status === 404 || error.status === 409)) return;
  if (!(error instanceof DepError)) throw error;
  if (error.kind !== 'throttled' && error.kind !== 'unreachable') return;
  const runAt = error.retryAt ?? new Date(Date.now() + PAUSE_MS);
  await inTransaction(db, (trx) => jobs.confirm(trx, accountId, { runAt }));
}
