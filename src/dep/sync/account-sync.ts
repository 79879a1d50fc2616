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
import { DepError, describeDepError } from '../client/dep-error.js';
import { nextSyncAttempt } from '../client/next-attempt.js';
import { SyncRun, type SyncRunDeps } from './sync-run.js';

export interface AccountSyncDeps extends SyncRunDeps {
  /** Milliseconds between two syncs of an account; undefined: on request only. */
  syncInterval: number | undefined;
  /** Milliseconds between two renewals of the lease while Apple is slow. */
  renewInterval?: number;
}

export interface SyncJob {
  accountId: number;
  /** Failures in a row. */
  attempt?: number | undefined;
}

/** Retry delay while another process syncs the account. */
const HELD_DELAY_MS = 5_000;

/** Syncs one account; only one process at a time syncs it. */
export class AccountSync {
  constructor(private readonly deps: AccountSyncDeps) {}

  async sync({ accountId, attempt = 0 }: SyncJob, signal: AbortSignal): Promise<void> {
    const { db, jobs } = this.deps;
    const position = await acquireSyncLease(db.knex, { accountId, owner: randomUUID() });
    if (position === 'none') return;
    if (position === 'held') {
      // The running sync may be past the change that this one was requested for.
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
      await (outcome === 'done' ? this.#finish(position, run) : this.#yield(position));
    } catch (error) {
      if (error instanceof DepError) await this.#fail(position, error, attempt + 1);
      else if (lost.aborted) await this.#yield(position);
      else await this.#release(position, error);
    } finally {
      this.#logSkipped(position, run);
    }
  }

  #logSkipped({ accountId: depAccountId }: SyncPosition, { skipped }: SyncRun): void {
    if (skipped === 0) return;
    const message = 'Apple lists devices without usable serial numbers: they are skipped';
    this.deps.logger.warn({ depAccountId, skipped }, message);
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
    logger.info(fields, 'DEP devices synced');
  }

  /** Another process has the lease, or the account has another token or cursor: sync again. */
  async #yield(position: SyncPosition): Promise<void> {
    const { db, jobs, logger } = this.deps;
    await inTransaction(db, async (trx) => {
      const wasOurs = (await endSync(trx, position, { state: 'waiting' })) !== undefined;
      const when = wasOurs ? {} : { runAt: later(HELD_DELAY_MS) };
      await jobs.sync(trx, position.accountId, when);
    });
    logger.debug({ depAccountId: position.accountId }, 'DEP sync superseded by another');
  }

  async #fail(position: SyncPosition, error: DepError, attempt: number): Promise<void> {
    const { jobs, logger } = this.deps;
    const { accountId } = position;
    const message = describeDepError(error);
    const runAt = nextSyncAttempt(error, attempt);
    const state = runAt === undefined ? 'idle' : 'waiting';
    const end: SyncEnd = { state, error: message, nextSyncAt: runAt ?? this.#next() };
    const retry = (trx: Transaction) =>
      runAt === undefined ? Promise.resolve() : jobs.sync(trx, accountId, { runAt, attempt });
    const figures = await this.#end(position, end, retry);
    if (figures === undefined) return;
    // Warn once if it keeps failing in the same way.
    const level = figures.sync_error === message ? 'debug' : 'warn';
    const fields = { depAccountId: accountId, detail: message, nextSyncAt: end.nextSyncAt };
    logger[level](fields, 'DEP sync failed; see the status_advice of the account');
  }

  /** Frees the lease before the job is retried, here or in another process. */
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
  /** Aborted when another process may hold the lease. */
  lost: AbortSignal;
  stop(): void;
}

/** Renews a lease regularly while Apple is slow; each stored page renews it as well. */
function keepSyncLease(
  { knex }: Pick<Database, 'knex'>,
  holder: Pick<SyncPosition, 'accountId' | 'owner'>,
  intervalMs: number = LEASE_MS / 3,
): KeptLease {
  const lost = new AbortController();
  const renew = async () => {
    // While the database is unreachable nothing can be stored either.
    const isOurs = await renewSyncLease(knex, holder).catch(() => true);
    if (!isOurs) lost.abort(new Error('another process may sync the account by now'));
  };
  const timer = setInterval(renew, intervalMs);
  timer.unref();
  return { lost: lost.signal, stop: () => clearInterval(timer) };
}
