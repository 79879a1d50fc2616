import { randomUUID } from 'node:crypto';
import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  acquireSyncLease,
  endSync,
  renewSyncLease,
  type SyncEnd,
  type SyncFigures,
} from '../../db/dep/dep-sync-lease.js';
import { LEASE_MS, type SyncPosition } from '../../db/dep/dep-sync-position.js';
import { DepError } from '../client/dep-error.js';
import { describeDepError, nextSyncAttempt } from '../client/next-attempt.js';
import { SyncRun, type SyncRunDeps } from './sync-run.js';

export interface AccountSyncDeps extends SyncRunDeps {
  /** Milliseconds between two syncs of an account; undefined: only when asked for. */
  syncInterval: number | undefined;
  /** Milliseconds between two signs of life while Apple is slow. */
  renewInterval?: number;
}

export interface SyncJob {
  accountId: number;
  /** How many have failed in a row. */
  attempt?: number;
}

/** While another process syncs the account. */
const HELD_DELAY_MS = 5_000;

/** One sync of one account, by one process at a time. */
export class AccountSync {
  constructor(private readonly deps: AccountSyncDeps) {}

  async sync({ accountId, attempt = 0 }: SyncJob, signal: AbortSignal): Promise<void> {
    const { db, jobs } = this.deps;
    const position = await acquireSyncLease(db.knex, { accountId, owner: randomUUID() });
    if (position === 'none') return;
    if (position === 'held') {
      // What it was asked for must not be lost: the other one may be past it.
      await inTransaction(db, (trx) => jobs.sync(trx, accountId, { runAt: later(HELD_DELAY_MS) }));
      return;
    }
    const lease = keepSyncLease(db, position, this.deps.renewInterval);
    try {
      await this.#run(position, attempt, { signal, lost: lease.lost });
    } finally {
      lease.stop();
    }
  }

  async #run(
    position: SyncPosition,
    attempt: number,
    { signal, lost }: { signal: AbortSignal; lost: AbortSignal },
  ): Promise<void> {
    const run = new SyncRun(this.deps, position);
    try {
      const outcome = await run.run(AbortSignal.any([signal, lost]));
      await (outcome === 'done' ? this.#finish(position, run) : this.#giveWay(position));
    } catch (error) {
      if (error instanceof DepError) await this.#fail(position, error, attempt + 1);
      else if (lost.aborted) await this.#giveWay(position);
      else await this.#release(position, error);
    } finally {
      this.#tellSkipped(position, run);
    }
  }

  #tellSkipped({ accountId: depAccountId }: SyncPosition, { skipped }: SyncRun): void {
    if (skipped === 0) return;
    const words = 'Apple lists devices without usable serial numbers: they are left out';
    this.deps.logger.warn({ depAccountId, skipped }, words);
  }

  async #finish(position: SyncPosition, run: SyncRun): Promise<void> {
    const { jobs, logger } = this.deps;
    const { accountId } = position;
    const end: SyncEnd = { state: 'idle', error: null, nextSyncAt: this.#next() };
    const figures = await this.#end(position, end, (trx) => jobs.reconcile(trx, accountId));
    const { added, removed } = run;
    if (figures === undefined || figures.sync_devices + removed === 0) return;
    const { sync_kind: kind, sync_pages: pages, sync_devices: devices } = figures;
    const seconds = Math.round(figures.seconds * 10) / 10;
    const fields = { depAccountId: accountId, kind, pages, devices, added, removed, seconds };
    logger.info(fields, 'devices of the enrollment program were synced');
  }

  /** Somebody else has taken over, or the same begins anew with another token or cursor. */
  async #giveWay(position: SyncPosition): Promise<void> {
    const { db, jobs, logger } = this.deps;
    await inTransaction(db, async (trx) => {
      const wasOurs = (await endSync(trx, position, { state: 'waiting' })) !== undefined;
      const when = wasOurs ? {} : { runAt: later(HELD_DELAY_MS) };
      await jobs.sync(trx, position.accountId, when);
    });
    logger.debug({ depAccountId: position.accountId }, 'a sync gave way to another');
  }

  async #fail(position: SyncPosition, error: DepError, attempt: number): Promise<void> {
    const { jobs, logger } = this.deps;
    const { accountId } = position;
    const words = describeDepError(error);
    const runAt = nextSyncAttempt(error, attempt);
    const state = runAt === undefined ? 'idle' : 'waiting';
    const end: SyncEnd = { state, error: words, nextSyncAt: runAt ?? this.#next() };
    const again = (trx: Transaction) =>
      runAt === undefined ? Promise.resolve() : jobs.sync(trx, accountId, { runAt, attempt });
    const figures = await this.#end(position, end, again);
    if (figures === undefined) return;
    // Once, however often it fails in the same way.
    const level = figures.sync_error === words ? 'debug' : 'warn';
    const fields = { depAccountId: accountId, detail: words, nextSyncAt: end.nextSyncAt };
    logger[level](
      fields,
      'a sync with the enrollment program failed; see the account for what to do',
    );
  }

  /** The job runs again by itself, here or in another process, and nobody is to wait for the lease. */
  async #release(position: SyncPosition, error: unknown): Promise<never> {
    await endSync(this.deps.db.knex, position, { state: 'waiting' }).catch(() => undefined);
    throw error;
  }

  #end(
    position: SyncPosition,
    end: SyncEnd,
    also: (trx: Transaction) => Promise<void>,
  ): Promise<SyncFigures | undefined> {
    return inTransaction(this.deps.db, async (trx) => {
      const figures = await endSync(trx, position, end);
      if (figures !== undefined) await also(trx);
      return figures;
    });
  }

  #next(): Date | null {
    const { syncInterval } = this.deps;
    return syncInterval === undefined ? null : later(syncInterval);
  }
}

function later(milliseconds: number): Date {
  return new Date(Date.now() + milliseconds);
}

interface KeptLease {
  /** Aborted when another process may have taken over. */
  lost: AbortSignal;
  stop(): void;
}

/** Keeps a lease alive while Apple is slow; each page that is stored renews it as well. */
function keepSyncLease(
  { knex }: Pick<Database, 'knex'>,
  holder: Pick<SyncPosition, 'accountId' | 'owner'>,
  intervalMs: number = LEASE_MS / 3,
): KeptLease {
  const lost = new AbortController();
  const renew = async () => {
    // While the database is away nothing can be stored either.
    const isOurs = await renewSyncLease(knex, holder).catch(() => true);
    if (!isOurs) lost.abort(new Error('another process may sync the account by now'));
  };
  const timer = setInterval(renew, intervalMs);
  timer.unref();
  return { lost: lost.signal, stop: () => clearInterval(timer) };
}
