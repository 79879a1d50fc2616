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
import { type DepAccounts, type DepApi, MOST_SERIALS } from '../client/dep-api.js';
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

/** What was told in a run. */
interface Tally {
  assigned: number;
  removed: number;
  failed: number;
}

/** A claim and those of its rows of which Apple has not been told yet. */
interface ClaimedRows {
  accountId: number;
  claim: AssignmentClaim;
  left: Set<number>;
}

/**
 * Tells Apple which device has which profile: whatever is due, in any number of processes at once.
 * What Apple was told and the process died before it was noted is told again.
 */
export class ProfileAssignments {
  constructor(private readonly deps: ProfileAssignmentsDeps) {}

  /** Ends when nothing is due any more, or when Apple's service can't be used now. */
  async sendDue(accountId: number, signal: AbortSignal): Promise<void> {
    const tally: Tally = { assigned: 0, removed: 0, failed: 0 };
    try {
      while (await this.sendNext({ accountId, tally, signal })) signal.throwIfAborted();
    } finally {
      const { assigned, removed, failed } = tally;
      if (assigned + removed + failed > 0) {
        this.deps.logger.info({ accountId, ...tally }, 'Apple was told of profiles of devices');
      }
    }
  }

  private async sendNext(run: {
    accountId: number;
    tally: Tally;
    signal: AbortSignal;
  }): Promise<boolean> {
    const { accountId, tally, signal } = run;
    const claim = await claimAssignments(this.deps.db.knex, { accountId, limit: MOST_SERIALS });
    if (claim.rows.length === 0) return false;
    const held = { accountId, claim, left: new Set(claim.rows.map(({ id }) => id)) };
    try {
      await this.clearRowsInSync(held);
      const batches = batchesOf(claim);
      if (batches.length === 0) return true;
      await this.deps.accounts.use(
        accountId,
        (api) => this.sendBatches(api, { batches, held, tally }),
        {
          signal,
        },
      );
      return true;
    } catch (error) {
      const again = await nextAttemptAfter(this.deps.db, { accountId, error });
      await this.postpone(held, { again, words: waitingMessage(error, again?.at ?? null) });
      if (again === undefined) throw error;
      return false;
    }
  }

  private async clearRowsInSync({ claim, left }: ClaimedRows): Promise<void> {
    const ids = claim.rows.filter(({ action: wish }) => wish === 'none').map(({ id }) => id);
    if (ids.length === 0) return;
    const { until } = claim;
    await inTransaction(this.deps.db, (trx) => clearDueAssignments(trx, { ids, until }));
    for (const id of ids) left.delete(id);
  }

  private async sendBatches(
    api: DepApi,
    { batches, held, tally }: { batches: Batch[]; held: ClaimedRows; tally: Tally },
  ): Promise<void> {
    for (const batch of batches) {
      try {
        await sendBatch(api, batch, (outcomes) =>
          this.store(held, { uuid: batch.uuid, outcomes, tally }),
        );
      } catch (error) {
        if (!(error instanceof DepError) || error.kind !== 'profile_not_found') throw error;
        await this.redefine(held, batch, error);
      }
    }
  }

  private async store(
    { claim, left }: ClaimedRows,
    told: { uuid: string | null; outcomes: AssignmentOutcome[]; tally: Tally },
  ): Promise<void> {
    const { uuid, outcomes, tally } = told;
    const { until } = claim;
    await inTransaction(this.deps.db, (trx) => storeAssignments(trx, { uuid, until, outcomes }));
    for (const { id, error } of outcomes) {
      left.delete(id);
      if (error !== null) tally.failed += 1;
      else if (uuid === null) tally.removed += 1;
      else tally.assigned += 1;
    }
  }

  /** Apple does not know the definition: it gets another, and the devices wait for it. */
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
      const words = name === null ? null : unknownProfileMessage(name, at);
      await releaseAssignments(trx, { ids, until: claim.until, at, error: words });
    });
    for (const id of ids) left.delete(id);
  }

  private async postpone(
    { accountId, claim, left }: ClaimedRows,
    { again, words }: { again: NextAttempt | undefined; words: string | null },
  ): Promise<void> {
    const { until } = claim;
    const at = again?.at ?? null;
    await inTransaction(this.deps.db, async (trx) => {
      await releaseAssignments(trx, { ids: [...left], until, at, error: words });
      if (at !== null) await this.deps.jobs.assign(trx, accountId, { runAt: at });
    });
  }
}

/** What was defined a moment ago may not be known everywhere at Apple's. */
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
