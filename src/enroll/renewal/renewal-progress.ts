import { toAppError } from '../../db/connection/sqlstate.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  deleteRenewals,
  type RenewalRow,
  type RenewalState,
  withdrawRenewalCommands,
} from '../../db/enroll/identity-renewal-repository.js';
import { systemContext, writeAudit } from '../../events/audit.js';
import type { RenewalVerdict } from './renewal-verdict.js';

/** A renewal whose attempt failed, and when there will be another. */
export interface FailedRenewal {
  deviceId: number;
  attempts: number;
  problem: string;
  retryAt: Date;
}

export interface RenewalProgress {
  /** Number of examined renewals. */
  examined: number;
  queued: number;
  renewed: number;
  failed: FailedRenewal[];
}

/** A renewal and the decision about it. */
export interface Judged {
  row: RenewalRow;
  verdict: RenewalVerdict;
}

export function stateAfter({ row, verdict }: Judged): RenewalState[] {
  const { device_id: deviceId, fingerprint, command_id: commandId, attempts } = row;
  const state = { deviceId, fingerprint, attempts };
  if (verdict.kind === 'wait') {
    return [{ ...state, commandId, nextAttemptAt: verdict.until, problem: null }];
  }
  if (verdict.kind !== 'failed') return [];
  const { problem, retryAt: nextAttemptAt } = verdict;
  return [{ ...state, commandId: null, nextAttemptAt, problem }];
}

export function failure({ row, verdict }: Judged): FailedRenewal[] {
  if (verdict.kind !== 'failed') return [];
  const { problem, retryAt } = verdict;
  return [{ deviceId: row.device_id, attempts: row.attempts, problem, retryAt }];
}

/** Deletes finished renewals. Returns the number of renewed devices. */
export async function closeRenewals(trx: Transaction, judged: Judged[]): Promise<number> {
  const rowsOf = (kind: RenewalVerdict['kind']) =>
    judged.filter(({ verdict }) => verdict.kind === kind).map(({ row }) => row);
  const renewed = rowsOf('renewed');
  const ended = [...renewed, ...rowsOf('over')];
  await deleteRenewals(
    trx,
    ended.map((row) => row.device_id),
  );
  await withdrawRenewalCommands(
    trx,
    renewed.flatMap((row) => row.command_id ?? []),
  );
  for (const row of renewed) await audit(trx, row);
  return renewed.length;
}

async function audit(trx: Transaction, row: RenewalRow): Promise<void> {
  await writeAudit(trx, {
    context: systemContext(),
    action: 'devices.identity_renewed',
    outcome: 'success',
    targetType: 'devices',
    targetId: row.device_id,
    details: { commands: row.command_id === null ? [] : [row.command_id] },
  }).catch((error: unknown) => {
    throw toAppError(error);
  });
}
