import { types } from 'node:util';
import { AppError, type AppErrorOptions, type ErrorCode } from '../../errors.js';
import { isOutage } from './outage.js';

/** The members of the driver's error that PostgreSQL fills in (protocol, ErrorResponse). */
interface PostgresError extends Error {
  code?: string;
  detail?: string;
  table?: string;
  column?: string;
  constraint?: string;
}

// 54000, program_limit_exceeded: no index takes a text of such length.
const INVALID_VALUES = new Set([
  ...['22001', '22003', '22007', '22008', '22021', '22P02', '22P05', '54000'],
]);
const LOCK_CONFLICTS = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);
const BUSY = new Set([
  ...LOCK_CONFLICTS,
  '55P03', // lock_not_available
  '57014', // query_canceled: the statement timeout
]);

/** Raised by the trigger of `devices.dep_profile_id`. */
const NO_ACCOUNT = 'MU001';

/** The API's name of a column, and its JSON pointer in a document. */
export interface Field {
  name: string;
  pointer: string;
}

/** Returns undefined for a column that the API does not show. */
export type FieldOf = (column: string) => Field | undefined;

const asAttribute: FieldOf = (name) => ({ name, pointer: `/data/attributes/${name}` });

/**
 * The driver's error as an AppError, with the driver's as its cause: 23505 is 409 `already_exists`
 * naming the attributes, 23503 is 409, values that do not fit are 422, a database that cannot answer is
 * 503, the rest 500. An AppError passes unchanged. `fieldOf` locates a column in a document; without it
 * every column counts as an attribute.
 */
export function toAppError(error: unknown, fieldOf: FieldOf = asAttribute): AppError {
  if (error instanceof AppError) return error;
  if (!types.isNativeError(error)) {
    return new AppError('internal_error', 500, 'Internal error', { cause: error });
  }
  return translate(error, fieldOf);
}

/** What PostgreSQL said, without the statement that Knex writes before it; undefined: the error is not its. */
export function postgresMessage(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !('severity' in error)) return undefined;
  const { message } = error;
  return message.slice(message.lastIndexOf(' - ') + 1).replace(/^- /, '');
}

/** PostgreSQL aborted this transaction in favour of another; a retry will most likely succeed. */
export function isConflictOfLocks(error: unknown): boolean {
  const driver = error instanceof AppError ? error.cause : error;
  return types.isNativeError(driver) && LOCK_CONFLICTS.has((driver as PostgresError).code ?? '');
}

function translate(error: PostgresError, fieldOf: FieldOf): AppError {
  const constraint = constraintError(error, fieldOf);
  if (constraint !== undefined) return constraint;
  if (INVALID_VALUES.has(error.code ?? '')) {
    const message = 'A value cannot be stored in its field';
    return new AppError('validation_failed', 422, message, { cause: error });
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
  if (isOutage(error)) {
    return new AppError('unavailable', 503, 'The database is not available', options);
  }
  return new AppError('internal_error', 500, 'Internal error', { cause: error });
}

function constraintError(error: PostgresError, fieldOf: FieldOf): AppError | undefined {
  const columns = columnsOf(error);
  switch (error.code) {
    case '23505': {
      const message = (names: string) => `A record with this ${names} already exists`;
      return columnError(error, fieldOf, { code: 'already_exists', status: 409, columns, message });
    }
    case '23503':
      return foreignKeyError(error, fieldOf);
    case '23502': {
      const message = (names: string) => `${names} must not be null`;
      return columnError(error, fieldOf, {
        code: 'validation_failed',
        status: 422,
        columns,
        message,
      });
    }
    case '23514': {
      const checked = [checkedColumn(error)];
      const message = (names: string) => `Not an allowed value (${names})`;
      return columnError(error, fieldOf, {
        code: 'validation_failed',
        status: 422,
        columns: checked,
        message,
      });
    }
    case NO_ACCOUNT: {
      const message = 'The profile has no DEP account: set its dep_account first';
      return new AppError('no_dep_account', 409, message, { cause: error });
    }
    default:
      return undefined;
  }
}

// Every table that is referenced without cascade has the name of its resource type.
function foreignKeyError(error: PostgresError, fieldOf: FieldOf): AppError {
  if (/is still referenced/.test(error.detail ?? '')) {
    const table = /referenced from table "([^"]+)"/.exec(error.detail ?? '')?.[1];
    const message = `Still in use by ${table ?? 'another record'}`;
    return new AppError('in_use', 409, message, { cause: error });
  }
  const message = (names: string) => `What ${names} refers to does not exist`;
  const columns = columnsOf(error);
  return columnError(error, fieldOf, { code: 'not_found', status: 409, columns, message });
}

interface ColumnError {
  code: ErrorCode;
  status: number;
  columns: string[];
  message: (names: string) => string;
}

/** One error with a pointer for each of the columns. */
function columnError(cause: PostgresError, fieldOf: FieldOf, error: ColumnError): AppError {
  const { code, status, columns } = error;
  const fields = columns.map(fieldOf);
  const names = columns.map((column, index) => fields[index]?.name ?? column).join(', ');
  const message = error.message(names || (cause.constraint ?? 'value'));
  const pointers = fields.flatMap((field) => (field ? [field.pointer] : []));
  const [pointer] = pointers;
  const options: AppErrorOptions = { cause };
  if (pointer !== undefined) options.source = { pointer };
  if (pointers.length > 1) {
    options.details = pointers.map((at) => ({ detail: message, source: { pointer: at } }));
  }
  return new AppError(code, status, message, options);
}

/** `Key (lower(udid))=(…)` and `Key (device_id, "position")=(…)` name the columns. */
function columnsOf(error: PostgresError): string[] {
  if (error.column !== undefined) return [error.column];
  const key = /^Key \((.+?)\)=\(/.exec(error.detail ?? '')?.[1] ?? '';
  return key
    .split(',')
    .map((part) => /(\w+)"?(?:::\w+)?\)*\s*$/.exec(part)?.[1] ?? '')
    .filter((name) => name !== '');
}

/** `create table t (c … check (…))` names its constraint `t_c_check`. */
function checkedColumn({ table = '', constraint = 'value' }: PostgresError): string {
  const name = constraint.replace(/_check\d*$/, '');
  return name.startsWith(`${table}_`) ? name.slice(table.length + 1) : name;
}
