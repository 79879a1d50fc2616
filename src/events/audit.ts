import { type AuditRow, type AuditTransaction, insertAuditRow } from '../db/audit-repository.js';
import type { AuditEvent, AuditWriter } from '../jsonapi/context.js';

function rowOf({ context, ...event }: AuditEvent): AuditRow {
  return {
    actor: context.actor.name,
    role: context.actor.role,
    source_address: context.sourceAddress,
    action: event.action,
    target_type: event.targetType,
    target_id: event.targetId === null ? null : String(event.targetId),
    request_id: context.requestId,
    outcome: event.outcome,
    details: event.details ?? null,
  };
}

/** Appends the line in the caller's transaction: no change without its line, no line without it. */
export const writeAudit: AuditWriter = (trx: AuditTransaction, event: AuditEvent) =>
  insertAuditRow(trx, rowOf(event));
