import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { endFetch, restartFetch, type SyncPosition } from '../../db/dep/dep-sync-position.js';
import type { Logger } from '../../logger.js';
import type { DepAccount, DepAccounts, DepApi, DevicePage } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import type { DepJobs } from '../dep-jobs.js';
import { removeUnlisted } from './remove-unlisted.js';
import { type StoredPage, storePage } from './store-page.js';

export interface SyncRunDeps {
  db: Database;
  logger: Logger;
  jobs: DepJobs;
  accounts: DepAccounts;
}

/** The most that Apple puts on a page. */
const PAGE_SIZE = 1_000;
/** Full fetches begun anew in one run because Apple has lost the cursor. */
const MOST_RESTARTS = 1;
const MOST_EMPTY_PAGES = 10;
/** So that profiles go out while a large account is still being read. */
const PAGES_PER_RECONCILIATION = 10;

/** superseded: another process, token or wish has taken over; what was stored holds. */
export type SyncOutcome = 'done' | 'superseded';

/** Reads what Apple tells of an account, page by page, from where it stands to the end. */
export class SyncRun {
  added = 0;
  removed = 0;
  /** Listed devices whose serial numbers are of no use. */
  skipped = 0;
  #position: SyncPosition;
  #pages = 0;
  #restarts = 0;
  #emptyPages = 0;
  /** A page was full of what is no device: what is missing then may just not be readable. */
  #isDoubtful = false;

  constructor(
    private readonly deps: SyncRunDeps,
    position: SyncPosition,
  ) {
    this.#position = position;
  }

  /** ProgramError where Apple ends it; throws when aborted. It can go on later. */
  async run(signal: AbortSignal): Promise<SyncOutcome> {
    for (;;) {
      signal.throwIfAborted();
      const step = await this.#step(signal);
      if (step !== 'more') return step;
    }
  }

  async #step(signal: AbortSignal): Promise<SyncOutcome | 'more'> {
    const from = this.#position;
    const page = await this.#ask(signal);
    if (page === 'other_token') return 'superseded';
    if (page === 'cursor_exhausted' && !this.#isAtStart()) return await this.#endPhase(signal);
    if (page === 'cursor_exhausted' || page === 'cursor_lost') return await this.#restart();
    signal.throwIfAborted();
    if (!(await this.#store(page))) return 'superseded';
    this.skipped += page.skipped;
    if (page.devices.length === 0 && page.skipped > 0) this.#isDoubtful = true;
    if (!page.moreToFollow) return await this.#endPhase(signal);
    this.#refuseStandstill(from, page);
    return 'more';
  }

  /** No page of the fetch is stored yet, so that nothing is known to be gone. */
  #isAtStart(): boolean {
    const { phase, pages } = this.#position;
    return phase === 'fetch' && pages === 0;
  }

  /** With the token of the moment, which may be a newer one of the same server of Apple's. */
  async #ask(
    signal: AbortSignal,
  ): Promise<DevicePage | 'other_token' | 'cursor_lost' | 'cursor_exhausted'> {
    const { accountId, consumerKey } = this.#position;
    const ask = async (api: DepApi, account: DepAccount) =>
      account.consumerKey === consumerKey ? await this.#page(api) : 'other_token';
    try {
      return await this.deps.accounts.use(accountId, ask, { signal });
    } catch (error) {
      const kind = error instanceof DepError ? error.kind : undefined;
      if (kind === 'cursor_lost' || kind === 'cursor_exhausted') return kind;
      throw error;
    }
  }

  #page(api: DepApi): Promise<DevicePage> {
    const { phase, cursor } = this.#position;
    const limit = PAGE_SIZE;
    if (phase === 'fetch' || cursor === null) return api.fetchDevices({ cursor, limit });
    return api.syncDevices({ cursor, limit });
  }

  async #store(page: DevicePage): Promise<boolean> {
    const { db, jobs } = this.deps;
    const from = this.#position;
    const isTime = from.phase === 'fetch' && (this.#pages + 1) % PAGES_PER_RECONCILIATION === 0;
    const stored = await inTransaction(db, async (trx) => {
      const result = await storePage(trx, from, page);
      if (result === undefined) return undefined;
      for (const receivingAccount of result.receivingAccounts)
        await jobs.reconcile(trx, receivingAccount);
      if (isTime) await jobs.reconcile(trx, from.accountId);
      return result;
    });
    if (stored !== undefined) this.#count(stored);
    return stored !== undefined;
  }

  #count({ position, added, removed }: StoredPage): void {
    this.#position = position;
    this.#pages += 1;
    this.added += added;
    this.removed += removed;
  }

  /** After the last page of all devices comes what has changed meanwhile. */
  async #endPhase(signal: AbortSignal): Promise<SyncOutcome | 'more'> {
    if (this.#position.phase === 'delta') return 'done';
    const removed = this.#isDoubtful ? 0 : await removeUnlisted(this.deps, this.#position, signal);
    if (removed === undefined) return 'superseded';
    this.removed += removed;
    const position = await inTransaction(this.deps.db, (trx) => endFetch(trx, this.#position));
    if (position === undefined) return 'superseded';
    this.#position = position;
    return position.cursor === null ? 'done' : 'more';
  }

  async #restart(): Promise<SyncOutcome | 'more'> {
    const position = await inTransaction(this.deps.db, (trx) => restartFetch(trx, this.#position));
    if (position === undefined) return 'superseded';
    this.#position = position;
    this.#restarts += 1;
    if (this.#restarts <= MOST_RESTARTS) return 'more';
    throw new DepError(
      'refused',
      'Apple has lost the place in the list of devices twice; the next sync begins anew',
    );
  }

  /** Apple has been seen to give out the same cursor, or empty pages, without an end. */
  #refuseStandstill(from: SyncPosition, { cursor, devices }: DevicePage): void {
    this.#emptyPages = devices.length === 0 ? this.#emptyPages + 1 : 0;
    if (cursor !== from.cursor && this.#emptyPages < MOST_EMPTY_PAGES) return;
    throw new DepError(
      'refused',
      'Apple says that more devices follow and does not go on; if it lasts, have all devices read ' +
        `anew: POST /api/v1/dep/accounts/${from.accountId}/sync?full=true`,
    );
  }
}
