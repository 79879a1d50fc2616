import type { Transaction } from '../connection/unit-of-work.js';

/**
 * What a certificate may do for its device (`device_identities.state`):
 * - `active`: identifies the device.
 * - `renewal`: issued to renew the device's identity; the device has not used it yet.
 * - `superseded`: replaced by the certificate of a later enrollment or renewal.
 * - `revoked`: its device is answered 403.
 * - `tombstone`: its device was deleted; kept so that the device is still recognized and unenrolls.
 */
export type PinState = 'active' | 'renewal' | 'superseded' | 'revoked' | 'tombstone';

/**
 * Locks the device that is pinned to the certificate, if there is one. Call it before changing the
 * pins of a device, so that no other transaction adds one.
 */
export async function lockHolder(trx: Transaction, fingerprint: Buffer): Promise<void> {
  await trx.raw(LOCK_HOLDER, [fingerprint]);
}

const LOCK_HOLDER = `
select d.id from device_identities i join devices d on d.id = i.device_id
where i.fingerprint = ? for no key update of d`;

// A pin is inserted for a certificate that no device has used yet, so that a concurrent
// Authenticate cannot claim it. The tombstone of a deleted device stays: the device is still
// answered to unenroll.
const REVOKE_IDENTITY = `
insert into device_identities (fingerprint, state, not_after)
select c.fingerprint, 'revoked', c.not_after from certificates c
where c.id = ? and c.purpose = 'mdm.device'
on conflict (fingerprint) do update set state = 'revoked', changed_at = now()
where device_identities.state in ('active', 'renewal')
returning device_id`;

/**
 * Revokes the certificate, and the identity of the device that signs with it, whose id is returned.
 * A certificate revoked before keeps its time and reason.
 */
export async function markRevoked(
  trx: Transaction,
  id: number,
  reason: string,
): Promise<number | null> {
  await trx('certificates')
    .where({ id })
    .whereNull('revoked_at')
    .update({ revoked_at: trx.fn.now(), revocation_reason: reason });
  const { rows } = await trx.raw<{ rows: { device_id: number | null }[] }>(REVOKE_IDENTITY, [id]);
  return rows[0]?.device_id ?? null;
}

export interface PinRevocation {
  deviceId: number;
  states: readonly Extract<PinState, 'active' | 'renewal'>[];
  reason: string;
}

const REVOKE_PINS = `
with revoked as (
  update device_identities set state = 'revoked', changed_at = now()
  where device_id = :deviceId and state = any(:states::text[])
  returning fingerprint
)
update certificates c set revoked_at = now(), revocation_reason = :reason
from revoked r
where c.fingerprint = r.fingerprint and c.revoked_at is null
returning c.id`;

/**
 * Revokes the pins of a device in these states with their certificates, whose ids are returned. The
 * caller has locked the device.
 */
export async function revokePins(
  trx: Transaction,
  { deviceId, states, reason }: PinRevocation,
): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(REVOKE_PINS, {
    deviceId,
    states: [...states],
    reason,
  });
  return rows.map(({ id }) => id).sort((one, other) => one - other);
}

const END_RENEWAL = `
with ended as (
  delete from identity_renewals where device_id = ? returning command_id
)
update commands c set status = 'Cancelled', ended_at = now(), reason = 'the identity was revoked'
from ended e
where c.id = e.command_id and c.is_pending`;

/** Cancels the renewal of a device and its command, because its identity was revoked. */
export async function endRenewal(trx: Transaction, deviceId: number): Promise<void> {
  await trx.raw(END_RENEWAL, [deviceId]);
}
