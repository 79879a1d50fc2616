import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findListed, type ListedRow, requestDisown } from '../../db/dep/dep-device-actions.js';
import { AppError, type ErrorDetail } from '../../errors.js';
import type { JobQueue } from '../../jobs/job-queue.js';

/** Task name, stored in the rows of waiting jobs. */
export const DISOWN = 'dep.disown';

export interface DisownRequest {
  serialNumbers: readonly string[];
  /** The confirmation that the admin typed. */
  confirm: string;
  /** Includes enrolled devices, and devices whose earlier request has no known outcome. */
  isForced: boolean;
}

export interface DisownRequested {
  accountId: number;
  /** Ids of the rows in `dep_devices`. */
  ids: number[];
}

/** The text to type: the serial number of one device, or the number of devices. */
export function disownConfirmation(serials: readonly string[]): string {
  return serials.length === 1 ? (serials[0] ?? '') : `disown ${serials.length} devices forever`;
}

/** Disowns devices. This is irreversible: only their seller can add them to an organization again. */
export class Disowning {
  constructor(private readonly jobs: JobQueue) {}

  /**
   * Adds a job that calls Apple. AppError 422 `confirmation_mismatch`; 404 naming each serial number
   * that no account lists; 409 `other_dep_account` if they belong to several accounts; unless forced,
   * 409 `in_use` for enrolled devices and 409 `conflict` while a request is under way.
   */
  async request(trx: Transaction, request: DisownRequest): Promise<DisownRequested> {
    const serials = [...new Set(request.serialNumbers)];
    requireConfirmation(serials, request.confirm);
    const rows = rowsOfOneAccount(serials, await findListed(trx, serials));
    if (!request.isForced) refuseDangerous(rows);
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
  const message = `disowning is irreversible: "confirm" must be "${expected}"`;
  throw new AppError('confirmation_mismatch', 422, message, { source });
}

const MAX_NAMED = 20;

/** If several accounts list all of them, the one that Apple listed them in last is chosen. */
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
  const message = `dep_accounts ${most[0]?.dep_account_id} has most of the devices, and does not list`;
  const details = others.map((serial) => errorDetail(serials, serial, message));
  throw new AppError('other_dep_account', 409, joined(message, others), { details });
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

function errorDetail(serials: readonly string[], serial: string, message: string): ErrorDetail {
  const pointer = `/data/attributes/serial_numbers/${serials.indexOf(serial)}`;
  return { detail: `${message} ${serial}`, source: { pointer } };
}

function joined(message: string, serials: readonly string[]): string {
  const more = serials.length > MAX_NAMED ? ` and ${serials.length - MAX_NAMED} more` : '';
  return `${message} ${serials.slice(0, MAX_NAMED).join(', ')}${more}`;
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
  throw new AppError('conflict', 409, joined('Apple is being asked to disown', serials));
}
