import type { Transaction } from '../db/unit-of-work.js';
import { writeAudit } from '../events/audit.js';
import { cliContext } from './token.js';

export interface CliEvent {
  /** `<collection>.<verb>` */
  action: string;
  /** Type and id. */
  target: [type: string, id: number];
  details?: Record<string, unknown>;
}

/** The audit line of what a command did, in the transaction of the change. */
export async function auditCli(
  trx: Transaction,
  { action, target: [targetType, targetId], details }: CliEvent,
): Promise<void> {
  await writeAudit(trx, {
    ...{ context: cliContext(), action, targetType, targetId, outcome: 'success' },
    ...(details === undefined ? {} : { details }),
  });
}
