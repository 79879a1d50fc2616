import { each, integer, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { ENROLLMENT_METHODS } from './device-attributes.js';

const READ_ONLY = { write: 'never' } as const;

/** The enrollments of a device before its present one. */
export const formerEnrollments = defineResource({
  type: 'former_enrollments',
  path: '/former_enrollments',
  table: 'former_enrollments',
  access: { read: 'viewer', create: null, update: null, delete: null },
  attributes: {
    enrollment_number: integer(READ_ONLY),
    enrollment_method: oneOf(ENROLLMENT_METHODS, READ_ONLY),
    ...each(text({ ...READ_ONLY, ignoreCase: true }), ['udid', 'enrollment_id', 'serial_number']),
    managed_apple_account: text(READ_ONLY),
    fingerprint_sha256: text(READ_ONLY),
    ...each(timestamp(READ_ONLY), ['authenticated_at', 'enrolled_at', 'ended_at']),
    end_reason: oneOf(['re-enrolled', 'checked out', 'moved', 'merged'], READ_ONLY),
  },
  relationships: {
    device: { kind: 'toOne', type: 'devices', column: 'device_id', write: 'never' },
  },
});
