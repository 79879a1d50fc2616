import type { ErrorCode } from '../../../errors.js';

/** The statuses of each code below /api/v1; none for codes that only devices or logs get. */
const STATUSES: Record<ErrorCode, number[]> = {
  bad_request: [400, 408],
  malformed_json: [400],
  invalid_document: [422],
  invalid_parameter: [400],
  query_too_expensive: [400],
  invalid_plist: [422],
  invalid_asn1: [422],
  invalid_certificate: [422],
  invalid_signature: [422],
  invalid_message: [],
  unauthorized: [401],
  forbidden: [403],
  console_header_required: [403],
  reauthentication_required: [403],
  not_found: [404, 409, 422],
  no_such_route: [404],
  method_not_allowed: [405],
  not_acceptable: [406],
  conflict: [409],
  wrong_type: [409],
  already_exists: [409],
  confirmation_required: [409],
  in_use: [409],
  still_assigned: [409],
  no_unlock_token: [409],
  no_eligible_device: [422],
  device_unenrolled: [409],
  user_unenrolled: [409],
  command_already_sent: [409],
  command_final: [409],
  enrollment_closed: [],
  precondition_failed: [412],
  idempotency_key_reused: [422],
  key_mismatch: [422],
  certificate_not_valid: [422],
  no_push_certificate: [409],
  device_not_pushable: [409],
  push_service_unreachable: [503],
  job_running: [409],
  lab_only: [409],
  invalid_smime: [422],
  no_matching_key: [422],
  invalid_token: [422],
  token_expired: [422],
  token_mismatch: [409],
  no_dep_account: [409],
  other_dep_account: [409],
  confirmation_mismatch: [422],
  push_topic_mismatch: [409],
  no_vendor_certificate: [409],
  key_rotation_unfinished: [500],
  key_export_off: [403],
  invalid_pkcs12: [422],
  invalid_profile: [422],
  encrypted_profile: [422],
  invalid_multipart: [400],
  headers_too_large: [431],
  payload_too_large: [413],
  unsupported_media_type: [415],
  validation_failed: [422],
  unsupported_on_platform: [422],
  unsupported_on_os_version: [422],
  not_supervised: [422],
  forbidden_by_enrollment: [422],
  too_many_requests: [429],
  unavailable: [503],
  server_busy: [503],
  master_key_mismatch: [],
  internal_error: [500],
};

/** What each status of an error means. */
export const MEANINGS: Record<number, string> = {
  400: 'The request is malformed, a query parameter is unknown or has a bad value, or a list takes too long.',
  401: 'No valid token came with the request.',
  403: 'The role of the token does not allow this, or a page of another site asks for it.',
  404: 'A resource that the path or the body names does not exist.',
  405: 'The path does not know this method; `Allow` names those it knows.',
  406: 'Every media type of `Accept` carries parameters that are not supported.',
  408: 'The request did not arrive in time.',
  409: 'The request conflicts with what is stored.',
  412: 'The resource has changed since the `ETag` in `If-Match` was read.',
  413: 'The body is too large.',
  415: 'The media type of the body is not supported.',
  422: 'The body is not valid; each error names its JSON pointer.',
  429: 'Too many failed authentications from this address, or too many lists of this token at a time.',
  431: 'The URL and the headers are larger than 64 KB together.',
  500: 'A fault of the server; nothing was changed.',
  503: 'Not possible just now, for example because the database is away.',
};

/** Every stable code of this status. */
export function codesOf(status: number): ErrorCode[] {
  const codes = Object.keys(STATUSES) as ErrorCode[];
  return codes.filter((code) => STATUSES[code].includes(status));
}

/** The table of codes, as Markdown. */
export function codeTable(): string {
  const rows = Object.keys(MEANINGS).map((status) => {
    const codes = codesOf(Number(status)).map((code) => `\`${code}\``);
    return `| ${status} | ${codes.join(' ')} |`;
  });
  return ['| status | `code` |', '| --- | --- |', ...rows].join('\n');
}
