import type { Transaction } from '../db/connection/unit-of-work.js';
import { writeAudit } from '../events/audit.js';
import type { AuditValues } from '../jsonapi/context.js';
import { cliContext } from './token.js';

export interface CliEvent {
  /** `<collection>.<verb>` */
  action: string;
  /** Type and id. */
  target: [type: string, id: number];
  values: AuditValues;
}

/** Appends the audit event of what a command did, in the transaction of the change. */
export async function auditCli(
  trx: Transaction,
  { action, target: [targetType, targetId], values }: CliEvent,
): Promise<void> {
  await writeAudit(trx, {
    ...values,
    ...{ context: cliContext(), action, targetType, targetId, outcome: 'success' },
  });
}
