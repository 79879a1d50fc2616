import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { insertNotices, type NoticeKey } from '../../db/pki/credential-repository.js';
import { systemContext, writeAudit } from '../../events/audit.js';
import type { Logger } from '../../logger.js';
import { endingAdvice, isOfNoUse } from './credential-advice.js';
import type { Credential } from './credential-status.js';

export interface NoticeDeps {
  db: Database;
  logger: Logger;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Days left at which a notice is due. */
const THRESHOLDS = [0, 1, 7, 14, 30, 60];
const EARLY = 60;

/** Whether a notice is due for a credential that ends at `notAfter`. */
export function isNoticeDue(notAfter: Date, now: Date): boolean {
  return notAfter.getTime() - now.getTime() <= EARLY * DAY_MS;
}

interface Notice {
  credential: Credential;
  key: NoticeKey;
}

/**
 * Logs and audits credentials that end within 60, 30, 14, 7 and 1 days, and those that have ended:
 * each once, whichever of several processes looks first.
 */
export async function reportEndingCredentials(
  { db, logger }: NoticeDeps,
  credentials: readonly Credential[],
  now: Date,
): Promise<void> {
  const due = credentials.flatMap((credential) => noticeOf(credential, now));
  if (due.length === 0) return;
  const written = await inTransaction(db, async (trx) => {
    const fresh = await insertNotices(
      trx,
      due.map(({ key }) => key),
    );
    const notices = due.filter(({ key }) => fresh.some((other) => isSame(key, other)));
    for (const notice of notices) await audit(trx, notice);
    return notices;
  });
  for (const notice of written) logNotice(logger, notice);
}

function noticeOf(credential: Credential, now: Date): Notice[] {
  const { kind, id, not_after } = credential;
  const left = (not_after.getTime() - now.getTime()) / DAY_MS;
  const days = THRESHOLDS.find((threshold) => left <= threshold);
  if (days === undefined || isOfNoUse(credential)) return [];
  return [{ credential, key: { kind, credential_id: id ?? 0, not_after, days } }];
}

function isSame(one: NoticeKey, other: NoticeKey): boolean {
  return one.kind === other.kind && one.credential_id === other.credential_id;
}

async function audit(trx: Transaction, { credential, key }: Notice): Promise<void> {
  const { kind, id, name, not_after, days_left } = credential;
  const stored = kind === 'dep_token' ? 'dep_accounts' : 'certificates';
  await writeAudit(trx, {
    context: systemContext(),
    action: key.days === 0 ? 'credentials.expired' : 'credentials.expiring',
    targetType: id === null ? 'credentials' : stored,
    targetId: id,
    outcome: 'success',
    details: { kind, name, not_after: not_after.toISOString(), days_left },
  });
}

function logNotice(logger: Logger, { credential, key }: Notice): void {
  const { kind, id, topic, status, days_left } = credential;
  const level = key.days === EARLY ? 'info' : 'warn';
  logger[level]({ kind, id, topic, status, days_left }, endingAdvice(credential));
}
