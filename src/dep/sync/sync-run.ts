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

/** Apple's maximum. */
const PAGE_SIZE = 1_000;
/** Full fetches restarted in one run because Apple has lost the cursor. */
const MAX_RESTARTS = 1;
const MAX_EMPTY_PAGES = 10;
/** Profiles are assigned while a large account is still being read. */
const PAGES_PER_RECONCILIATION = 10;

/** superseded: another process, token or request has replaced this run; stored pages stay. */
export type SyncOutcome = 'done' | 'superseded';

/** Reads the devices of an account page by page, from the stored position to the end. */
export class SyncRun {
  added = 0;
  removed = 0;
  /** Number of listed devices without a usable serial number. */
  skipped = 0;
  #position: SyncPosition;
  #pages = 0;
  #restarts = 0;
  #emptyPages = 0;
  /** A page held no usable device: missing devices may just be unreadable. */
  #isUnreliable = false;

  constructor(
    private readonly deps: SyncRunDeps,
    position: SyncPosition,
  ) {
    this.#position = position;
  }

  /** DepError if Apple fails; throws when aborted. A later run continues at the stored position. */
  async run(signal: AbortSignal): Promise<SyncOutcome> {
    for (;;) {
      signal.throwIfAborted();
      const step = await this.#step(signal);
      if (step !== 'more') return step;
    }
  }

  async #step(signal: AbortSignal): Promise<SyncOutcome | 'more'> {
    const from = this.#position;
    const page = await this.#fetchPage(signal);
    if (page === 'other_token') return 'superseded';
    if (page === 'cursor_exhausted' && !this.#isAtStart()) return await this.#endPhase(signal);
    if (page === 'cursor_exhausted' || page === 'cursor_lost') return await this.#restart();
    signal.throwIfAborted();
    if (!(await this.#store(page))) return 'superseded';
    this.skipped += page.skipped;
    if (page.devices.length === 0 && page.skipped > 0) this.#isUnreliable = true;
    if (!page.moreToFollow) return await this.#endPhase(signal);
    this.#requireProgress(from, page);
    return 'more';
  }

  /** No page of the fetch is stored yet, so no device may be marked removed. */
  #isAtStart(): boolean {
    const { phase, pages } = this.#position;
    return phase === 'fetch' && pages === 0;
  }

  /** Uses the account's current token, which may be a renewed one of the same server at Apple. */
  async #fetchPage(
    signal: AbortSignal,
  ): Promise<DevicePage | 'other_token' | 'cursor_lost' | 'cursor_exhausted'> {
    const { accountId, consumerKey } = this.#position;
    const fetch = async (api: DepApi, account: DepAccount) =>
      account.consumerKey === consumerKey ? await this.#callApi(api) : 'other_token';
    try {
      return await this.deps.accounts.use(accountId, fetch, { signal });
    } catch (error) {
      const kind = error instanceof DepError ? error.kind : undefined;
      if (kind === 'cursor_lost' || kind === 'cursor_exhausted') return kind;
      throw error;
    }
  }

  #callApi(api: DepApi): Promise<DevicePage> {
    const { phase, cursor } = this.#position;
    const limit = PAGE_SIZE;
    if (phase === 'fetch' || cursor === null) return api.fetchDevices({ cursor, limit });
    return api.syncDevices({ cursor, limit });
  }

  async #store(page: DevicePage): Promise<boolean> {
    const { db, jobs } = this.deps;
    const from = this.#position;
    const isReconciled =
      from.phase === 'fetch' && (this.#pages + 1) % PAGES_PER_RECONCILIATION === 0;
    const stored = await inTransaction(db, async (trx) => {
      const result = await storePage(trx, from, page);
      if (result === undefined) return undefined;
      for (const receivingAccount of result.receivingAccounts)
        await jobs.reconcile(trx, receivingAccount);
      if (isReconciled) await jobs.reconcile(trx, from.accountId);
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

  /** After the full fetch, the changes made meanwhile are read. */
  async #endPhase(signal: AbortSignal): Promise<SyncOutcome | 'more'> {
    if (this.#position.phase === 'delta') return 'done';
    const removed = this.#isUnreliable
      ? 0
      : await removeUnlisted(this.deps, this.#position, signal);
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
    if (this.#restarts <= MAX_RESTARTS) return 'more';
    throw new DepError(
      'refused',
      'Apple has lost the cursor twice; the next sync starts from the beginning',
    );
  }

  /** Apple sometimes returns the same cursor, or empty pages, endlessly. */
  #requireProgress(from: SyncPosition, { cursor, devices }: DevicePage): void {
    this.#emptyPages = devices.length === 0 ? this.#emptyPages + 1 : 0;
    if (cursor !== from.cursor && this.#emptyPages < MAX_EMPTY_PAGES) return;
    throw new DepError(
      'refused',
      'Apple says that more devices follow but sends none; if this lasts, start a full sync: ' +
        `POST /api/v1/dep/accounts/${from.accountId}/sync?full=true`,
    );
  }
}
