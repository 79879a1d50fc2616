import { randomUUID } from 'node:crypto';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { writeAudit } from '../events/audit.js';
import type { AuditValues, RequestContext } from '../jsonapi/context.js';

export interface CliEvent {
  /** `<collection>.<verb>` */
  action: string;
  /** Type and id. */
  target: [type: string, id: number];
  values: AuditValues;
}

/** The actor of changes made on the command line. */
export function cliContext(): RequestContext {
  return {
    requestId: randomUUID(),
    actor: { name: 'cli', role: 'admin' },
    sourceAddress: null,
  };
}

/** Appends the audit event of what a command did, in the transaction of the change. */
export async function auditCli(
  trx: Transaction,
  { action, target: [targetType, targetId], values }: CliEvent,
): Promise<void> {
  const context = cliContext();
  await writeAudit(trx, { ...values, context, action, targetType, targetId, outcome: 'success' });
}
