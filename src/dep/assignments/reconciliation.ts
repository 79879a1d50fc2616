import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { updateProfileErrors } from '../../db/dep/dep-profile-failures.js';
import {
  assignDefaultProfiles,
  type DriftedRow,
  type Examined,
  examineAssignments,
  makeAssignmentsDue,
  type ReconcileReport,
  type Repair,
  storeReconcileReport,
} from '../../db/dep/dep-reconcile-repository.js';
import { repairDeviceRecords } from '../../db/dep/dep-record-repository.js';
import { systemContext, writeAudit } from '../../events/audit.js';
import { BATCH } from '../../jobs/tasks/scheduled-task.js';
import type { Logger } from '../../logger.js';
import type { DepJobs } from '../dep-jobs.js';

export interface ReconciliationDeps {
  db: Database;
  logger: Logger;
  jobs: Pick<DepJobs, 'assign'>;
  /** Profiles of which Apple has something else than they say now. */
  profiles: { redefineStale(accountId: number): Promise<number[]> };
}

/** Looked at in one statement, which changes nothing. */
const LOOKED_AT = 10_000;

/**
 * Sees to it that Apple has what is wanted here, by what is so and not by what has happened: what
 * went by unnoticed is found too. In any number of processes at once.
 */
export class Reconciliation {
  constructor(private readonly deps: ReconciliationDeps) {}

  async reconcile(accountId: number, signal: AbortSignal): Promise<ReconcileReport> {
    const report = newReport();
    await inTransaction(this.deps.db, (trx) => updateProfileErrors(trx, accountId));
    for (let after: number | null = 0; after !== null; ) {
      signal.throwIfAborted();
      after = await this.repairNext({ accountId, after }, report);
    }
    report.redefined = (await this.deps.profiles.redefineStale(accountId)).length;
    await this.finish(accountId, report);
    return report;
  }

  private async repairNext(place: Place, report: ReconcileReport): Promise<number | null> {
    const { last, failing, rowsToRepair } = await this.examine(place, report);
    report.failing += failing;
    report.auto_assigned += await this.change(
      rowsToRepair,
      'assign_default',
      assignDefaultProfiles,
    );
    report.auto_reassigned += await this.change(
      rowsToRepair,
      'move_to_new_default',
      assignDefaultProfiles,
    );
    report.reassigned += await this.change(rowsToRepair, 'resend', makeAssignmentsDue);
    report.unassigned += await this.change(rowsToRepair, 'unassign', makeAssignmentsDue);
    return last;
  }

  /** With a record for each serial number that Apple lists. */
  private async examine({ accountId, after }: Place, report: ReconcileReport): Promise<Examined> {
    const look = () =>
      examineAssignments(this.deps.db.knex, { accountId, after, limit: LOOKED_AT });
    const examined = await look();
    const made = await this.change(examined.rowsToRepair, 'create_record', repairDeviceRecords);
    report.records_made += made;
    return made > 0 ? await look() : examined;
  }

  /** In transactions small enough that none holds its locks for long. */
  private async change(
    rowsToRepair: readonly DriftedRow[],
    repair: Repair,
    change: Change,
  ): Promise<number> {
    const rows = rowsToRepair.filter((row) => row.repair === repair);
    let count = 0;
    for (let start = 0; start < rows.length; start += BATCH) {
      const slice = rows.slice(start, start + BATCH);
      count += await inTransaction(this.deps.db, (trx) => change(trx, slice));
    }
    return count;
  }

  private async finish(accountId: number, report: ReconcileReport): Promise<void> {
    const { db, jobs, logger } = this.deps;
    const { failing: _, ...done } = report;
    const isAnythingDone = Object.values(done).some((count) => count > 0);
    const isNoted = await inTransaction(db, async (trx) => {
      const noted = isAnythingDone ? report : null;
      if (!(await storeReconcileReport(trx, accountId, noted))) return false;
      await jobs.assign(trx, accountId);
      if (isAnythingDone) await audit(trx, accountId, done);
      return true;
    });
    if (!isNoted || !isAnythingDone) return;
    logger.info(
      { accountId, ...report },
      "what Apple has differed from what is wanted: it's mended",
    );
  }
}

/** Returns how many it has changed. */
type Change = (trx: Transaction, rows: readonly DriftedRow[]) => Promise<number>;

interface Place {
  accountId: number;
  after: number;
}

function newReport(): ReconcileReport {
  return {
    auto_assigned: 0,
    auto_reassigned: 0,
    reassigned: 0,
    unassigned: 0,
    records_made: 0,
    redefined: 0,
    failing: 0,
  };
}

function audit(
  trx: Transaction,
  accountId: number,
  details: Record<string, number>,
): Promise<void> {
  return writeAudit(trx, {
    context: systemContext(),
    action: 'dep_accounts.reconcile',
    outcome: 'success',
    targetType: 'dep_accounts',
    targetId: accountId,
    details,
  });
}
