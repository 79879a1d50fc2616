import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findListed, type ListedRow, requestDisown } from '../../db/dep/dep-device-actions.js';
import { AppError, type ErrorDetail } from '../../errors.js';
import type { JobQueue } from '../../jobs/job-queue.js';

/** Stands in the rows of waiting jobs. */
export const DISOWN = 'dep.disown';

export interface DisownRequest {
  serialNumbers: readonly string[];
  /** What the admin typed to show that it is meant. */
  confirm: string;
  /** Enrolled devices too, and those of which it is not known what became of an earlier request. */
  isForced: boolean;
}

export interface DisownRequested {
  accountId: number;
  /** Of the rows. */
  ids: number[];
}

/** What is to be typed: the serial number of one device, or how many there are. */
export function disownConfirmation(serials: readonly string[]): string {
  return serials.length === 1 ? (serials[0] ?? '') : `disown ${serials.length} devices forever`;
}

/** Gives devices up for good: nobody can bring them back into the organization but their seller. */
export class Disowning {
  constructor(private readonly jobs: JobQueue) {}

  /**
   * Has Apple told after the commit. AppError 422 `confirmation_mismatch`; 404 naming each serial number
   * that no account lists; 409 `other_dep_account` when they are of several; 409 `in_use` for enrolled
   * devices and 409 `conflict` while Apple is being told, unless forced.
   */
  async request(trx: Transaction, asked: DisownRequest): Promise<DisownRequested> {
    const serials = [...new Set(asked.serialNumbers)];
    requireConfirmation(serials, asked.confirm);
    const rows = rowsOfOneAccount(serials, await findListed(trx, serials));
    if (!asked.isForced) refuseDangerous(rows);
    const ids = rows.map(({ id }) => id);
    const [{ dep_account_id: accountId } = { dep_account_id: 0 }] = rows;
    await requestDisown(trx, ids);
    await this.jobs.add(trx, { name: DISOWN }, { accountId, ids });
    return { accountId, ids };
  }
}

function requireConfirmation(serials: readonly string[], typed: string): void {
  const expected = disownConfirmation(serials);
  if (typed === expected) return;
  const source = { pointer: '/data/attributes/confirm' };
  const message = `this is for good: "confirm" has to be "${expected}"`;
  throw new AppError('confirmation_mismatch', 422, message, { source });
}

const MOST_NAMED = 20;

/** Where several accounts list all of them, the one that heard of them last has them. */
function rowsOfOneAccount(serials: readonly string[], rows: readonly ListedRow[]): ListedRow[] {
  const known = new Set(rows.map(({ serial_number }) => serial_number));
  const unknown = serials.filter((serial) => !known.has(serial));
  if (unknown.length > 0) {
    const details = unknown.map((serial) => errorDetail(serials, serial, 'no account lists'));
    throw new AppError('not_found', 404, joined('no account lists', unknown), { details });
  }
  const accounts = byAccount(rows);
  const whole = accounts.filter(({ length }) => length === serials.length);
  const [latest] = whole.sort((a, b) => lastListedAt(b) - lastListedAt(a));
  if (latest !== undefined) return latest;
  const [most = []] = accounts.sort((a, b) => b.length - a.length);
  const own = new Set(most.map(({ serial_number }) => serial_number));
  const others = serials.filter((serial) => !own.has(serial));
  const words = `dep_accounts ${most[0]?.dep_account_id} has most of the devices, and does not list`;
  const details = others.map((serial) => errorDetail(serials, serial, words));
  throw new AppError('other_dep_account', 409, joined(words, others), { details });
}

function byAccount(rows: readonly ListedRow[]): ListedRow[][] {
  const accounts = new Map<number, ListedRow[]>();
  for (const row of rows) {
    const others = accounts.get(row.dep_account_id);
    if (others === undefined) accounts.set(row.dep_account_id, [row]);
    else others.push(row);
  }
  return [...accounts.values()];
}

function errorDetail(serials: readonly string[], serial: string, words: string): ErrorDetail {
  const pointer = `/data/attributes/serial_numbers/${serials.indexOf(serial)}`;
  return { detail: `${words} ${serial}`, source: { pointer } };
}

function joined(words: string, serials: readonly string[]): string {
  const more = serials.length > MOST_NAMED ? ` and ${serials.length - MOST_NAMED} more` : '';
  return `${words} ${serials.slice(0, MOST_NAMED).join(', ')}${more}`;
}

function lastListedAt([row]: ListedRow[]): number {
  return row?.told_at?.getTime() ?? 0;
}

function refuseDangerous(rows: readonly ListedRow[]): void {
  const enrolled = rows.filter(({ is_enrolled }) => is_enrolled);
  if (enrolled.length > 0) {
    const are = enrolled.length === 1 ? 'device is' : 'devices are';
    const message = `${enrolled.length} ${are} enrolled: force=true disowns enrolled devices too`;
    throw new AppError('in_use', 409, message);
  }
  const sent = rows.filter(({ disown_result }) => disown_result === 'sent');
  if (sent.length === 0) return;
  const serials = sent.map(({ serial_number }) => serial_number);
  throw new AppError('conflict', 409, joined('Apple is being told of', serials));
}
