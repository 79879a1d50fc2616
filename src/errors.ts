/** Stable error codes. The API documentation lists them; never rename one that has shipped. */
export type ErrorCode =
  | 'bad_request'
  | 'malformed_json'
  | 'invalid_document'
  | 'invalid_parameter'
  | 'query_too_expensive'
  | 'invalid_plist'
  | 'invalid_asn1'
  | 'invalid_certificate'
  | 'invalid_signature'
  | 'invalid_message'
  | 'unauthorized'
  | 'forbidden'
  | 'console_header_required'
  | 'reauthentication_required'
  | 'not_found'
  | 'no_such_route'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'conflict'
  | 'wrong_type'
  | 'already_exists'
  | 'confirmation_required'
  | 'in_use'
  | 'still_assigned'
  | 'no_unlock_token'
  | 'no_eligible_device'
  | 'device_unenrolled'
  | 'user_unenrolled'
  | 'command_already_sent'
  | 'command_final'
  | 'enrollment_closed'
  | 'precondition_failed'
  | 'idempotency_key_reused'
  | 'key_mismatch'
  | 'certificate_not_valid'
  | 'push_topic_mismatch'
  | 'no_vendor_certificate'
  | 'key_rotation_unfinished'
  | 'no_push_certificate'
  | 'device_not_pushable'
  | 'push_service_unreachable'
  | 'job_running'
  | 'lab_only'
  | 'invalid_smime'
  | 'no_matching_key'
  | 'invalid_token'
  | 'token_expired'
  | 'token_mismatch'
  | 'no_dep_account'
  | 'other_dep_account'
  | 'confirmation_mismatch'
  | 'key_export_off'
  | 'invalid_pkcs12'
  | 'invalid_profile'
  | 'encrypted_profile'
  | 'invalid_multipart'
  | 'headers_too_large'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'validation_failed'
  | 'unsupported_on_platform'
  | 'unsupported_on_os_version'
  | 'not_supervised'
  | 'forbidden_by_enrollment'
  | 'too_many_requests'
  | 'unavailable'
  | 'server_busy'
  | 'master_key_mismatch'
  | 'internal_error';

/** The faulty part of a request: a JSON pointer into the body, a query parameter or a header. */
export interface ErrorSource {
  pointer?: string;
  parameter?: string;
  header?: string;
}

export interface ErrorDetail {
  detail: string;
  source?: ErrorSource | undefined;
  /** Only where it differs from the error's own code: one request can fail in several ways. */
  code?: ErrorCode | undefined;
  /** For programs: what the detail says in words. */
  meta?: Record<string, unknown> | undefined;
}

/** What is wrong with, or unusual about, one place of what was sent. */
export interface Finding {
  /** JSON pointer into the document or the property list. */
  pointer: string;
  detail: string;
}

export interface AppErrorOptions {
  source?: ErrorSource | undefined;
  cause?: unknown;
  /** All faults found at once; each becomes one member of the JSON:API `errors` array. */
  details?: ErrorDetail[] | undefined;
  headers?: Record<string, string> | undefined;
  /** Logged, never sent: which sender or record the error concerns. No secrets. */
  about?: Record<string, string | number>;
}

/** A failure with a stable code and an HTTP status. The message is safe to show. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly source: ErrorSource | undefined;
  readonly details: ErrorDetail[];
  readonly headers: Record<string, string>;
  readonly about: Record<string, string | number>;

  constructor(code: ErrorCode, status: number, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = status;
    this.source = options.source;
    this.details = options.details ?? [];
    this.headers = options.headers ?? {};
    this.about = options.about ?? {};
  }
}

/** Several validation faults as one 422. */
export function validationError(details: ErrorDetail[]): AppError {
  const message = details.map((fault) => fault.detail).join('; ');
  return new AppError('validation_failed', 422, message, { details });
}

export function notFound(what: string): AppError {
  return new AppError('not_found', 404, `${what} does not exist`);
}

/** @param allowed the value of the header Allow. */
export function methodNotAllowed(method: string, allowed: string): AppError {
  const message = `${method} is not possible here, only ${allowed}`;
  return new AppError('method_not_allowed', 405, message, { headers: { Allow: allowed } });
}

/** Something that the server needs is missing; the message says what an admin should do. */
export function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', 503, message, { cause });
}

const FEW_NAMES = 15;
const NEAREST_NAMES = 5;
/** Longer names are not compared: they are no typing errors, and comparing takes time. */
const MAX_NAME_LENGTH = 40;

/** Names for the message about an unknown one: all known names, or the most similar of many. */
export function knownNames(
  unknown: string,
  names: readonly string[],
  all = '/api/v1/openapi.json has all',
): string {
  if (names.length === 0) return 'there are none';
  if (names.length <= FEW_NAMES) return `known: ${names.join(', ')}`;
  const nearest = nearestNames(unknown, names).slice(0, NEAREST_NAMES);
  return `the nearest of ${names.length} known ones: ${nearest.join(', ')} (${all})`;
}

/** All names, the most similar first. */
export function nearestNames(unknown: string, names: readonly string[]): string[] {
  const wanted = unknown.slice(0, MAX_NAME_LENGTH).toLowerCase();
  const rated = names.map((name) => ({ name, distance: distanceOf(wanted, name.toLowerCase()) }));
  return rated.sort((one, other) => one.distance - other.distance).map(({ name }) => name);
}

/** Levenshtein's; a part of a name is near to it. */
export function distanceOf(one: string, other: string): number {
  if (one !== '' && other.includes(one)) return 1 - one.length / (other.length + 1);
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const line = [row + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[other.length] ?? 0;
}
