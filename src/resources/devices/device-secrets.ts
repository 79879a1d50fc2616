import { bool, integer, oneOf, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device } from '../common.js';

export const SECRET_KINDS = [
  'unlock_token',
  'bootstrap_token',
  'activation_lock_bypass_code',
  'fde_personal_recovery_key_cms',
  'fde_personal_recovery_key_device_key',
  'device_lock_pin',
  'erase_pin',
  'recovery_lock_password',
  'firmware_password',
  'admin_password',
  'filevault_recovery_key',
] as const;

const STATES = ['queued', 'sent', 'confirmed', 'failed', 'superseded'] as const;

const READ_ONLY = { write: 'never' } as const;

/** What devices have escrowed and what commands set, and when; the secrets themselves are shown by the API's reveal only. */
export const deviceSecrets = defineResource({
  type: 'device_secrets',
  path: '/device_secrets',
  table: 'device_secret_records',
  isView: true,
  access: { read: 'operator', create: null, update: null, delete: null },
  attributes: {
    kind: oneOf(SECRET_KINDS, READ_ONLY),
    enrollment_number: integer(READ_ONLY),
    state: oneOf(STATES, READ_ONLY),
    is_current: bool(READ_ONLY),
    is_removal: bool(READ_ONLY),
    is_known: bool(READ_ONLY),
    created_at: timestamp(READ_ONLY),
  },
  relationships: {
    device: { ...device, required: false, write: 'never' },
    // That sets the value; none for what the device sent by itself.
    command: { kind: 'toOne', type: 'commands', column: 'command_id', write: 'never' },
  },
});
