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
  /** Redefines profiles whose definition at Apple is outdated; returns their ids. */
  profiles: { redefineStale(accountId: number): Promise<number[]> };
}

/** Rows examined by one statement, which changes nothing. */
const EXAMINED_AT_ONCE = 10_000;

/**
 * Makes Apple match the wanted state by comparing states, not by replaying events, so missed events
 * are repaired too. Several processes may run this at once.
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

  /** Creates missing device rows first, since the other repairs need them. */
  private async examine({ accountId, after }: Place, report: ReconcileReport): Promise<Examined> {
    const examine = () =>
      examineAssignments(this.deps.db.knex, { accountId, after, limit: EXAMINED_AT_ONCE });
    const examined = await examine();
    const created = await this.change(examined.rowsToRepair, 'create_record', repairDeviceRecords);
    report.records_made += created;
    return created > 0 ? await examine() : examined;
  }

  /** Small transactions, so that none holds its locks for long. */
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
    const hasChanges = Object.values(done).some((count) => count > 0);
    const isStored = await inTransaction(db, async (trx) => {
      if (!(await storeReconcileReport(trx, accountId, hasChanges ? report : null))) return false;
      await jobs.assign(trx, accountId);
      if (hasChanges) await audit(trx, accountId, done);
      return true;
    });
    if (!isStored || !hasChanges) return;
    logger.info({ accountId, ...report }, 'DEP reconciliation repaired differences');
  }
}

/** Returns the number of changed rows. */
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
