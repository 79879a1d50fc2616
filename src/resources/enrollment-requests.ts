import { each, oneOf, text, timestamp, version } from '../jsonapi/attributes.js';
import { defineResource } from '../jsonapi/definition.js';
import type { Row } from '../jsonapi/store.js';
import { ENROLLMENT_METHODS } from './enrollment-methods.js';
import type { ResourceServices } from './services.js';

const READ_ONLY = { write: 'never' } as const;

function stateOf({ enrolled_at, expires_at }: Row, now = new Date()): string {
  if (enrolled_at !== null) return 'enrolled';
  return (expires_at as Date) <= now ? 'expired' : 'waiting';
}

/**
 * Devices, by Apple's certificate or their user's account, that were given an enrollment profile:
 * who asked, and what became of it.
 */
export const enrollmentRequests = defineResource<ResourceServices>({
  type: 'enrollment_requests',
  path: '/enrollment_requests',
  table: 'enrollment_requests',
  access: { read: 'operator', create: null, update: null, delete: null },
  attributes: {
    method: oneOf(ENROLLMENT_METHODS, READ_ONLY),
    state: oneOf(['waiting', 'enrolled', 'expired'], {
      ...{ write: 'never', derivedFrom: ['enrolled_at', 'expires_at'] },
    }),
    ...each(text({ ...READ_ONLY, ignoreCase: true }), ['udid', 'serial_number']),
    ...each(text(READ_ONLY), ['product_name', 'imei', 'meid', 'language', 'account']),
    ...each(version(READ_ONLY), ['os_version', 'build_version', 'unmet_minimum_os_version']),
    ...each(timestamp(READ_ONLY), ['created_at', 'expires_at', 'enrolled_at']),
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
  derive: (_name, row) => stateOf(row),
});
