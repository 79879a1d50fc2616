import type { Knex } from 'knex';

const KINDS = [
  'unlock_token',
  'bootstrap_token',
  'activation_lock_bypass_code',
  'fde_personal_recovery_key_cms',
  'fde_personal_recovery_key_device_key',
  'device_lock_pin',
  'erase_pin',
  'recovery_lock_password',
  'firmware_password',
];

const NEW_KINDS = ['admin_password', 'filevault_recovery_key'];

function allow(kinds: string[]): string {
  const list = kinds.map((kind) => `'${kind}'`).join(', ');
  return `
alter table device_secrets drop constraint device_secrets_kind_check;
alter table device_secrets add constraint device_secrets_kind_check check (kind in (${list}));
`;
}

export async function up(knex: Knex): Promise<void> {
  await knex.raw(allow([...KINDS, ...NEW_KINDS]));
}

export async function down(knex: Knex): Promise<void> {
  await knex('device_secrets').whereIn('kind', NEW_KINDS).delete();
  await knex.raw(allow(KINDS));
}
