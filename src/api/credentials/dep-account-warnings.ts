import type { DuplicateAccounts, FailingAccount } from '../../db/dep/dep-account-health.js';
import type { Advice } from '../../pki/credentials/credential-advice.js';

const NO_FAILURE = new Set(['ok', 'unconfirmed']);

const WHAT: Record<string, string> = {
  terms_not_signed: "somebody has to accept Apple's new terms",
  token_rejected: 'Apple rejects its token',
  token_expired: 'its token has expired',
  throttled: 'Apple asks to wait',
  unreachable: "Apple's service cannot be reached",
};

function sentence(text: string | null): string {
  if (text === null || text === '') return '';
  return ` ${text}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** What keeps a DEP account from being up to date. */
export function depAccountWarning(account: FailingAccount): Advice {
  const { id, name, status, status_text, status_advice } = account;
  const who = `The account ${name === null ? '' : `${JSON.stringify(name)} `}(id ${id}) of Apple's device enrollment`;
  if (NO_FAILURE.has(status))
    return { code: 'dep_account_not_synced', detail: unsynced(account, who) };
  const what = WHAT[status] ?? 'Apple answers what is not understood here';
  const words = status_text === null ? '' : ` Apple says: ${JSON.stringify(status_text)}.`;
  return {
    code: `dep_account_${status}`,
    detail: `${who} is not up to date: ${what}.${words}${sentence(status_advice)}`,
  };
}

/** One server of Apple's in several accounts. */
export function duplicateAccountWarning({ ids, name }: DuplicateAccounts): Advice {
  const server = name === null ? '' : ` ${JSON.stringify(name)}`;
  const detail =
    `The accounts ${ids.join(' and ')} of Apple's device enrollment are of the same server${server} at ` +
    'Apple: each lists its devices, and assigns them its own default profile. Delete all but one ' +
    '(DELETE /api/v1/dep/accounts/{id}).';
  return { code: 'dep_account_duplicate', detail };
}

function unsynced({ id, sync_finished_at, sync_error }: FailingAccount, who: string): string {
  const since =
    sync_finished_at === null
      ? 'was never synced'
      : `was not synced since ${sync_finished_at.toISOString()}`;
  return (
    `${who} ${since}.${sentence(sync_error)} See whether a process with the role worker runs, and ` +
    `/api/v1/jobs; POST /api/v1/dep/accounts/${id}/sync begins one.`
  );
}
