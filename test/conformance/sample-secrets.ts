import type { Knex } from 'knex';
import { SECRET_KINDS } from '../../src/resources/devices/device-secrets.js';

/** One secret of each kind; the device has withdrawn the last. */
export async function seedSecrets(knex: Knex, device_id: number): Promise<void> {
  const rows = SECRET_KINDS.map((kind, index) => ({
    device_id,
    kind,
    enrollment_number: index,
    sealed: Buffer.alloc(index === SECRET_KINDS.length - 1 ? 0 : 40, 1),
    created_at: `2026-03-${index + 10}T23:42:09.${index}5+02:00`,
  }));
  await knex('device_secrets').insert(rows);
}
