import { serviceUrl } from '../../config/values.js';
import { type ErrorDetail, validationError } from '../../errors.js';
import {
  bool,
  each,
  integer,
  jsonObject,
  oneOf,
  text,
  timestamp,
  url,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { parseTimestamp } from '../../jsonapi/definition/values.js';
import { adminWrites } from '../common.js';
import {
  createAccount,
  type DepAccountServices,
  profilesOfAccount,
  removeAccount,
  updateAccount,
} from './dep-account-operations.js';
import { defaultProfiles } from './dep-account-references.js';

/** Kept in the column `sealed_<name>`. */
function secret(name: string) {
  return text({ writeOnly: true, min: 1, max: 10_000, derivedFrom: [`sealed_${name}`] });
}

/** One half of the OAuth token; the other half is secret. */
const OPEN_CREDENTIAL = { readRole: 'admin', isCredential: true, min: 1, max: 1000 } as const;

const UUID = /^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** What the server finds out by itself, all the time. */
const FOUND = { write: 'never', volatile: true } as const;

/** What Apple last said of the token. */
export const DEP_ACCOUNT_STATUSES = [
  'unconfirmed',
  'ok',
  'terms_not_signed',
  'token_rejected',
  'token_expired',
  'throttled',
  'unreachable',
  'error',
  'lab_off',
] as const;

/** What Apple's portal puts into a server token, once it is decrypted. */
const MEMBERS = [
  'consumer_key',
  'consumer_secret',
  'access_token',
  'access_secret',
  'access_token_expiry',
];

/** One server of Apple's Device Enrollment Program, as its token and Apple's account describe it. */
export const depAccounts = defineResource<DepAccountServices>({
  type: 'dep_accounts',
  path: '/dep/accounts',
  table: 'dep_accounts',
  access: adminWrites,
  attributes: {
    consumer_key: text(OPEN_CREDENTIAL),
    consumer_secret: secret('consumer_secret'),
    access_token: text(OPEN_CREDENTIAL),
    access_secret: secret('access_secret'),
    auth_session_token: secret('auth_session_token'),
    access_token_expiry: timestamp({ write: 'create' }),
    token_updated_at: timestamp({ write: 'never' }),
    server_name: text(),
    server_uuid: text({ pattern: UUID, like: 'a UUID', ignoreCase: true }),
    ...each(text(), ['admin_id', 'facilitator_id', 'org_name']),
    org_email: text({ max: 320, pattern: /^[^\s@]+@[^\s@]+$/, like: 'an email address' }),
    ...each(text(), ['org_phone', 'org_address', 'org_id', 'org_id_hash']),
    org_type: oneOf(['edu', 'org']),
    org_version: oneOf(['v1', 'v2']),
    url: url({ rule: serviceUrl }),
    // Without a cursor all devices are read anew.
    cursor: text({ volatile: true }),
    more_to_follow: bool({ volatile: true }),
    fetched_until: timestamp({ volatile: true }),
    status: oneOf(DEP_ACCOUNT_STATUSES, { ...FOUND, nullable: false }),
    ...each(text(FOUND), ['status_text', 'status_advice']),
    ...each(timestamp(FOUND), ['status_at', 'confirmed_at']),
    sync_state: oneOf(['idle', 'waiting', 'running'], { ...FOUND, nullable: false }),
    sync_kind: oneOf(['full', 'delta'], FOUND),
    sync_phase: oneOf(['fetch', 'delta'], { ...FOUND, nullable: false }),
    ...each(timestamp(FOUND), ['sync_started_at', 'sync_finished_at', 'next_sync_at']),
    ...each(integer({ ...FOUND, nullable: false }), ['fetch_number', 'sync_pages', 'sync_devices']),
    // How many devices the last full fetch missed; one more decides whether they are removed.
    suspected_losses: integer({ ...FOUND, nullable: false }),
    fetched_fully_at: timestamp(FOUND),
    sync_error: text(FOUND),
    reconciled_at: timestamp(FOUND),
    reconcile_report: jsonObject(FOUND),
    is_lab: bool({ write: 'never', nullable: false }),
    created_at: timestamp({ write: 'never' }),
  },
  relationships: {
    dep_profiles: {
      kind: 'toMany',
      type: 'dep_profiles',
      via: { foreignKey: 'dep_account_id' },
      write: 'document',
      operations: profilesOfAccount,
    },
    ...defaultProfiles,
    dep_devices: {
      kind: 'toMany',
      type: 'dep_devices',
      via: { foreignKey: 'dep_account_id' },
      write: 'never',
    },
    dep_tokens: {
      kind: 'toMany',
      type: 'dep_tokens',
      via: { foreignKey: 'dep_account_id' },
      write: 'never',
    },
    token_certificate: {
      kind: 'toOne',
      type: 'certificates',
      column: 'token_certificate_id',
      write: 'always',
    },
  },
  adaptCreate: adaptToken,
  operations: { create: createAccount, update: updateAccount, delete: removeAccount },
});

/**
 * A token's JSON as the document that creates its account; any other body passes unchanged. What
 * Apple may add to tokens is ignored.
 * AppError 422 with the pointer of each member that is missing or wrong.
 */
function adaptToken(body: unknown): unknown {
  if (!isToken(body)) return body;
  const faults = MEMBERS.flatMap((name) => faultOf(name, body[name]));
  if (faults.length > 0) throw validationError(faults);
  const attributes = Object.fromEntries(MEMBERS.map((name) => [name, body[name]]));
  return { data: { type: 'dep_accounts', attributes } };
}

function isToken(body: unknown): body is Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Object.hasOwn(body, 'data')) return false;
  return MEMBERS.some((name) => Object.hasOwn(body, name));
}

function faultOf(name: string, value: unknown): ErrorDetail[] {
  const source = { pointer: `/${name}` };
  if (typeof value !== 'string' || value === '') {
    return [{ detail: `${name} of the token must be text`, source }];
  }
  if (name !== 'access_token_expiry' || parseTimestamp(value) !== undefined) return [];
  return [{ detail: `${name} must be an ISO 8601 time with offset`, source }];
}
