import { randomUUID } from 'node:crypto';
import {
  type AuditRow,
  createdAuditRow,
  insertAuditRow,
  type Transaction,
} from '../db/admin/audit-repository.js';
import {
  type AuditContext,
  type AuditEvent,
  type AuditPartWriter,
  type AuditWriter,
  type Changes,
  SYSTEM_ACTOR,
} from '../jsonapi/context.js';
import { auditDetails } from './audit-values.js';

export { type Changes, SYSTEM_ACTOR } from '../jsonapi/context.js';

/** The context of work without a request. */
export function systemContext(): AuditContext {
  return { requestId: randomUUID(), actor: SYSTEM_ACTOR, sourceAddress: null };
}

/** The changes of a created record. */
export function createdWith(values: Record<string, unknown>): Changes {
  return Object.fromEntries(valuesIn(values).map(([name, value]) => [name, [null, value]]));
}

/** The changes of a deleted record. */
export function deletedWith(values: Record<string, unknown>): Changes {
  return Object.fromEntries(valuesIn(values).map(([name, value]) => [name, [value, null]]));
}

function valuesIn(values: Record<string, unknown>): [string, unknown][] {
  return Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
}

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
    session_id: context.actor.session?.id ?? null,
    details: auditDetails(event),
  };
}

/**
 * Appends an event in the caller's transaction, so that change and event are committed together. The
 * only way into the audit trail, except for statements of the device path: an enrollment that is
 * replaced, a device that asks to return to service.
 */
export const writeAudit: AuditWriter = (trx: Transaction, event: AuditEvent) =>
  insertAuditRow(trx, rowOf(event));

/** The same for the row `created` of a statement, as a part of that statement. */
export const auditOfCreated: AuditPartWriter = (event) =>
  createdAuditRow(rowOf({ ...event, targetId: null }));
