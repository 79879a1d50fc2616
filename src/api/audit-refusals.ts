import type { ErrorRequestHandler } from 'express';
import { AppError, type ErrorCode } from '../errors.js';
import { contextOf } from '../http/requests/request-context.js';
import { parseId } from '../jsonapi/definition/values.js';
import type { ApiContext } from '../jsonapi/handler.js';

/** The operation as its lines of audit name it. */
export interface AuditedOperation {
  action: string;
  targetType: string;
  /** Further errors that are refusals. */
  codes?: readonly ErrorCode[];
}

/** Refused by role or by rule. A malformed request, or one for an unknown id, is no refusal. */
function isRefusal(error: unknown, codes: readonly ErrorCode[]): error is AppError {
  if (!(error instanceof AppError)) return false;
  return error.status === 403 || error.code === 'in_use' || codes.includes(error.code);
}

/** For `onError` of an operation: records refused attempts in the audit trail, too. */
export function auditRefusals(
  api: Pick<ApiContext, 'store' | 'audit'>,
  { action, targetType, codes = [] }: AuditedOperation,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (!isRefusal(error, codes)) {
      next(error);
      return;
    }
    const event = {
      context: contextOf(res),
      action,
      targetType,
      outcome: 'refused' as const,
      targetId: parseId(String(req.params.id)) ?? null,
      details: { code: error.code, ...furtherIds(req.params) },
    };
    api.store.inTransaction((trx) => api.audit(trx, event)).then(() => next(error), next);
  };
}

/** The ids in the path beside that of the target: `secret_id`. */
function furtherIds({ id: _target, ...others }: Record<string, unknown>): Record<string, number> {
  const ids = Object.entries(others).flatMap(([name, text]): [string, number][] => {
    const id = parseId(String(text));
    return id === undefined ? [] : [[name, id]];
  });
  return Object.fromEntries(ids);
}
