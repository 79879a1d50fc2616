import type { ErrorRequestHandler } from 'express';
import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { AppError, type ErrorCode } from '../errors.js';
import { writeAudit } from '../events/audit.js';
import { contextOf } from '../http/requests/request-context.js';
import { parseId } from '../jsonapi/definition/values.js';

/** The operation as its lines of audit name it. */
export interface AuditedOperation {
  action: string;
  targetType: string;
  /** Further errors that are refusals. */
  codes?: readonly ErrorCode[];
}

/** By role or by rule; what is merely asked for wrongly, or not there, was no attempt. */
function isRefusal(error: unknown, codes: readonly ErrorCode[]): error is AppError {
  if (!(error instanceof AppError)) return false;
  return error.status === 403 || error.code === 'in_use' || codes.includes(error.code);
}

/** For `onError` of an operation: who was refused it is in the audit trail too. */
export function auditRefusals(
  db: Database,
  { action, targetType, codes = [] }: AuditedOperation,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (!isRefusal(error, codes)) {
      next(error);
      return;
    }
    const event = {
      ...{ context: contextOf(res), action, targetType, outcome: 'refused' as const },
      targetId: parseId(String(req.params.id)) ?? null,
      details: { code: error.code },
    };
    inTransaction(db, (trx) => writeAudit(trx, event)).then(() => next(error), next);
  };
}
