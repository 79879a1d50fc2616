import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import {
  type AssignmentClaim,
  type AssignmentOutcome,
  claimAssignments,
  clearDueAssignments,
  releaseAssignments,
  storeAssignments,
} from '../../db/dep/dep-assignment-repository.js';
import { findProfileName, forgetDefinition } from '../../db/dep/dep-profile-failures.js';
import type { Logger } from '../../logger.js';
import { type DepAccounts, type DepApi, MAX_SERIALS } from '../client/dep-api.js';
import { DepError } from '../client/dep-error.js';
import { type NextAttempt, nextAttemptAfter } from '../client/next-attempt.js';
import type { DepJobs } from '../dep-jobs.js';
import { unknownProfileMessage, waitingMessage } from './assignment-messages.js';
import { type Batch, sendBatch } from './send-batch.js';

export interface ProfileAssignmentsDeps {
  db: Database;
  logger: Logger;
  accounts: DepAccounts;
  jobs: Pick<DepJobs, 'assign' | 'define'>;
}

/** Rows of a run, for the log. */
interface Tally {
  assigned: number;
  removed: number;
  failed: number;
}

/** A claim, and the ids of its rows without a stored outcome yet. */
interface ClaimedRows {
  accountId: number;
  claim: AssignmentClaim;
  left: Set<number>;
}

/**
 * Sends due profile assignments to Apple; several processes may run this at once. If a process dies
 * between Apple's answer and the stored outcome, the assignment is sent again.
 */
export class ProfileAssignments {
  constructor(private readonly deps: ProfileAssignmentsDeps) {}

  /** Returns when nothing is due any more, or when Apple's service cannot be used now. */
  async sendDue(accountId: number, signal: AbortSignal): Promise<void> {
    const tally: Tally = { assigned: 0, removed: 0, failed: 0 };
    try {
      while (await this.sendNext({ accountId, tally, signal })) signal.throwIfAborted();
    } finally {
      const { assigned, removed, failed } = tally;
      if (assigned + removed + failed > 0) {
        this.deps.logger.info({ accountId, ...tally }, 'DEP profile assignments sent');
      }
    }
  }

  private async sendNext(run: {
    accountId: number;
    tally: Tally;
    signal: AbortSignal;
  }): Promise<boolean> {
    const { accountId, tally, signal } = run;
    const claim = await claimAssignments(this.deps.db.knex, { accountId, limit: MAX_SERIALS });
    if (claim.rows.length === 0) return false;
    const claimed = { accountId, claim, left: new Set(claim.rows.map(({ id }) => id)) };
    try {
      await this.clearRowsInSync(claimed);
      const batches = batchesOf(claim);
      if (batches.length === 0) return true;
      await this.deps.accounts.use(
        accountId,
        (api) => this.sendBatches(api, { batches, claimed, tally }),
        {
          signal,
        },
      );
      return true;
    } catch (error) {
      const next = await nextAttemptAfter(this.deps.db, { accountId, error });
      await this.postpone(claimed, { next, message: waitingMessage(error, next?.at ?? null) });
      if (next === undefined) throw error;
      return false;
    }
  }

  private async clearRowsInSync({ claim, left }: ClaimedRows): Promise<void> {
    const ids = claim.rows.filter(({ action }) => action === 'none').map(({ id }) => id);
    if (ids.length === 0) return;
    const { until } = claim;
    await inTransaction(this.deps.db, (trx) => clearDueAssignments(trx, { ids, until }));
    for (const id of ids) left.delete(id);
  }

  private async sendBatches(
    api: DepApi,
    { batches, claimed, tally }: { batches: Batch[]; claimed: ClaimedRows; tally: Tally },
  ): Promise<void> {
    for (const batch of batches) {
      try {
        await sendBatch(api, batch, (outcomes) =>
          this.store(claimed, { uuid: batch.uuid, outcomes, tally }),
        );
      } catch (error) {
        if (!(error instanceof DepError) || error.kind !== 'profile_not_found') throw error;
        await this.redefine(claimed, batch, error);
      }
    }
  }

  private async store(
    { claim, left }: ClaimedRows,
    result: { uuid: string | null; outcomes: AssignmentOutcome[]; tally: Tally },
  ): Promise<void> {
    const { uuid, outcomes, tally } = result;
    const { until } = claim;
    await inTransaction(this.deps.db, (trx) => storeAssignments(trx, { uuid, until, outcomes }));
    for (const { id, error } of outcomes) {
      left.delete(id);
      if (error !== null) tally.failed += 1;
      else if (uuid === null) tally.removed += 1;
      else tally.assigned += 1;
    }
  }

  /** Apple does not know the definition: the profile is defined again, and the devices wait for it. */
  private async redefine(
    { claim, left }: ClaimedRows,
    { uuid, profileId, rows }: Batch,
    error: DepError,
  ): Promise<void> {
    const ids = rows.map(({ id }) => id).filter((id) => left.has(id));
    await inTransaction(this.deps.db, async (trx) => {
      const isForgotten =
        uuid !== null &&
        profileId !== null &&
        (await forgetDefinition(trx, { profileId, uuid, text: error.text }));
      if (isForgotten) await this.deps.jobs.define(trx, profileId);
      const at = isForgotten ? null : new Date(Date.now() + WAIT_FOR_APPLE_MS);
      const name = profileId === null ? null : await findProfileName(trx, profileId);
      const message = name === null ? null : unknownProfileMessage(name, at);
      await releaseAssignments(trx, { ids, until: claim.until, at, error: message });
    });
    for (const id of ids) left.delete(id);
  }

  private async postpone(
    { accountId, claim, left }: ClaimedRows,
    { next, message }: { next: NextAttempt | undefined; message: string | null },
  ): Promise<void> {
    const { until } = claim;
    const at = next?.at ?? null;
    await inTransaction(this.deps.db, async (trx) => {
      await releaseAssignments(trx, { ids: [...left], until, at, error: message });
      if (at !== null) await this.deps.jobs.assign(trx, accountId, { runAt: at });
    });
  }
}

/** Not all of Apple's servers know a definition that was just made. */
const WAIT_FOR_APPLE_MS = 120_000;

function batchesOf({ rows }: AssignmentClaim): Batch[] {
  const batches = new Map<string | null, Batch>();
  for (const row of rows) {
    if (row.action === 'none') continue;
    const uuid = row.action === 'assign' ? row.uuid : null;
    const batch = batches.get(uuid) ?? { uuid, profileId: row.profileId, rows: [] };
    batch.rows.push(row);
    batches.set(uuid, batch);
  }
  return [...batches.values()];
}
