import { types } from 'node:util';
import { AppError, type AppErrorOptions, type ErrorCode } from '../errors.js';

/** The members of the driver's error that PostgreSQL fills in (protocol, ErrorResponse). */
interface PostgresError extends Error {
  code?: string;
  detail?: string;
  column?: string;
  constraint?: string;
}

const INVALID_VALUES = new Set(['22001', '22003', '22007', '22008', '22021', '22P02', '22P05']);
const LOCK_CONFLICTS = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);
const BUSY = new Set([
  ...LOCK_CONFLICTS,
  '55P03', // lock_not_available
  '57014', // query_canceled: the statement timeout
]);
const UNAVAILABLE = new Set([
  '57P01', // admin_shutdown
  '57P02',
  '57P03', // cannot_connect_now
  '53300', // too_many_connections
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT', // the unix socket is gone
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
const LOST_CONNECTION = /timeout|Connection terminated|Connection ended|pool is draining/i;

/** Classes 08 (connection) and 53 (resources) as a whole mean: not now. */
function isUnavailable(error: PostgresError): boolean {
  const code = error.code ?? '';
  if (UNAVAILABLE.has(code) || /^(08|53)...$/.test(code)) return true;
  return code === '' && LOST_CONNECTION.test(error.message);
}

/** `Key (lower(udid))=(…)` and `Key (device_id, name)=(…)` name the columns. */
function columnsOf(error: PostgresError): string[] {
  if (error.column !== undefined) return [error.column];
  const key = /^Key \((.+?)\)=\(/.exec(error.detail ?? '')?.[1] ?? '';
  return key
    .split(',')
    .map((part) => /(\w+)\)*\s*$/.exec(part)?.[1] ?? '')
    .filter((name) => name !== '');
}

/** `create table t (c … check (…))` names its constraint `t_c_check`. */
function checkedColumn(constraint: string): string {
  return constraint.replace(/_check\d*$/, '');
}

function fault(code: ErrorCode, status: number, message: string, error: PostgresError): AppError {
  const [column] = columnsOf(error);
  const options: AppErrorOptions = { cause: error };
  if (column !== undefined) options.source = { pointer: `/data/attributes/${column}` };
  return new AppError(code, status, message, options);
}

function foreignKeyError(error: PostgresError): AppError {
  const table = /(?:referenced from|present in) table "([^"]+)"/.exec(error.detail ?? '')?.[1];
  const cause = error;
  if (/is still referenced/.test(error.detail ?? '')) {
    return new AppError('in_use', 409, `Still in use by ${table ?? 'another record'}`, { cause });
  }
  const columns = columnsOf(error).join(', ');
  return new AppError('not_found', 409, `What ${columns} refers to does not exist`, { cause });
}

function alreadyExists(error: PostgresError): AppError {
  const columns = columnsOf(error).join(', ') || (error.constraint ?? 'value');
  return fault('already_exists', 409, `A record with this ${columns} already exists`, error);
}

function translate(error: PostgresError): AppError {
  if (error.code === '23505') return alreadyExists(error);
  if (error.code === '23503') return foreignKeyError(error);
  if (error.code === '23502') {
    return fault('validation_failed', 422, `${error.column} must not be null`, error);
  }
  if (error.code === '23514') {
    const name = checkedColumn(error.constraint ?? 'value');
    return fault('validation_failed', 422, `Not an allowed value (${name})`, error);
  }
  if (INVALID_VALUES.has(error.code ?? '')) {
    return fault('validation_failed', 422, 'A value cannot be stored in its field', error);
  }
  const options = { cause: error, headers: { 'Retry-After': '1' } };
  if (BUSY.has(error.code ?? '')) {
    return new AppError(
      'unavailable',
      503,
      'Others are changing the same records; try again',
      options,
    );
  }
  if (isUnavailable(error)) {
    return new AppError('unavailable', 503, 'The database is not available', options);
  }
  return new AppError('internal_error', 500, 'Internal error', { cause: error });
}

/** PostgreSQL gave this transaction up in favour of another; run again it will most likely succeed. */
export function isConflictOfLocks(error: unknown): boolean {
  const driver = error instanceof AppError ? error.cause : error;
  return types.isNativeError(driver) && LOCK_CONFLICTS.has((driver as PostgresError).code ?? '');
}

/**
 * What went wrong in the database as the product's error, with the driver's as its cause: 23505 is
 * 409 `already_exists` naming the attribute, 23503 is 409, values that do not fit are 422, a
 * database that cannot answer is 503, the rest 500. An AppError passes unchanged.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (!types.isNativeError(error)) {
    return new AppError('internal_error', 500, 'Internal error', { cause: error });
  }
  return translate(error);
}
