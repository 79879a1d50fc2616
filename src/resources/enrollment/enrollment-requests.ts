import {
  each,
  integer,
  oneOf,
  text,
  timestamp,
  version,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import type { Row } from '../../jsonapi/store.js';
import { ENROLLMENT_METHODS } from '../devices/device-attributes.js';

const READ_ONLY = { write: 'never' } as const;

const STATES = ['waiting', 'held', 'approved', 'enrolled', 'expired'] as const;

/** The columns that the state follows from. */
export interface RequestTimes {
  enrolled_at: Date | null;
  expires_at: Date;
  held_at: Date | null;
  approved_at: Date | null;
}

export function requestState(times: RequestTimes, now = new Date()): (typeof STATES)[number] {
  if (times.enrolled_at !== null) return 'enrolled';
  if (times.expires_at <= now) return 'expired';
  if (times.approved_at !== null) return 'approved';
  return times.held_at === null ? 'waiting' : 'held';
}

/**
 * Devices, known by Apple's certificate or their user's account, that got an enrollment profile, and
 * enrolled devices whose new enrollment waits for an admin, with the outcome.
 */
export const enrollmentRequests = defineResource({
  type: 'enrollment_requests',
  path: '/enrollment_requests',
  table: 'enrollment_requests',
  access: { read: 'operator', create: null, update: null, delete: null },
  attributes: {
    method: oneOf(ENROLLMENT_METHODS, READ_ONLY),
    state: oneOf(STATES, {
      write: 'never',
      derivedFrom: ['enrolled_at', 'expires_at', 'held_at', 'approved_at'],
    }),
    ...each(text({ ...READ_ONLY, ignoreCase: true }), ['udid', 'enrollment_id', 'serial_number']),
    ...each(text(READ_ONLY), ['product_name', 'imei', 'meid', 'language', 'account']),
    ...each(version(READ_ONLY), ['os_version', 'build_version', 'unmet_minimum_os_version']),
    fingerprint_sha256: text(READ_ONLY),
    attempts: integer({ ...READ_ONLY, volatile: true }),
    last_attempt_at: timestamp({ ...READ_ONLY, volatile: true }),
    ...each(timestamp(READ_ONLY), ['created_at', 'held_at', 'approved_at', 'enrolled_at']),
    expires_at: timestamp(READ_ONLY),
  },
  relationships: {
    enrollment_link: {
      kind: 'toOne',
      type: 'enrollment_links',
      column: 'enrollment_link_id',
      write: 'never',
    },
    certificate: { kind: 'toOne', type: 'certificates', column: 'certificate_id', write: 'never' },
    device: { kind: 'toOne', type: 'devices', column: 'device_id', write: 'never' },
  },
  derive: (_name, row) => requestState(row as Row & RequestTimes),
});
