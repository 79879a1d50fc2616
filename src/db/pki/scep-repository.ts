import type { Knex } from 'knex';
import type { PinState } from './identity-revocation.js';
import { lockHolder } from './identity-revocation.js';

export interface ChallengeUse {
  csr_fingerprint: Buffer;
  certificate_id: number;
  /** Number of certificates issued for it. */
  issued: number;
  /** When the device first authenticated with the certificate: the challenge is spent. */
  locked_at: Date | null;
  der: Buffer;
  revoked_at: Date | null;
}

export interface IdentityRow {
  fingerprint: Buffer;
  device_id: number | null;
  state: PinState;
  udid: string | null;
  revoked_at: Date | null;
  /** The enrollment of its device has not ended. */
  is_enrolling: boolean;
}

/**
 * The use of a challenge so far. Until the transaction ends, other calls with the same nonce wait,
 * even without a row to lock, and the MDM path cannot set `locked_at`.
 */
export async function claimChallenge(
  trx: Knex.Transaction,
  nonce: Buffer,
): Promise<ChallengeUse | undefined> {
  await trx.raw('select pg_advisory_xact_lock(?, ?)', [CHALLENGE_LOCKS, nonce.readInt32BE(0)]);
  return await trx('scep_challenges as s')
    .join('certificates as c', 'c.id', 's.certificate_id')
    .where('s.nonce', nonce)
    .forUpdate('s')
    .first<ChallengeUse | undefined>(
      's.csr_fingerprint',
      's.certificate_id',
      's.issued',
      's.locked_at',
      'c.der',
      'c.revoked_at',
    );
}

/** First of the two numbers of the advisory lock; the second is taken from the nonce. */
const CHALLENGE_LOCKS = 0x73_6365;

export interface NewChallengeUse {
  nonce: Buffer;
  csrFingerprint: Buffer;
  certificateId: number;
  /** Row of `enrollment_requests`. */
  requestId: number | null;
  linkId: number | null;
  isExchange: boolean;
}

/** Records the first use of a challenge, or the request that replaces the earlier one. */
export async function recordChallengeUse(
  trx: Knex.Transaction,
  use: NewChallengeUse,
): Promise<void> {
  const changed = { csr_fingerprint: use.csrFingerprint, certificate_id: use.certificateId };
  const purpose = {
    enrollment_request_id: use.requestId,
    enrollment_link_id: use.linkId,
    is_exchange: use.isExchange,
  };
  await trx('scep_challenges')
    .insert({ nonce: use.nonce, ...changed, ...purpose })
    .onConflict('nonce')
    .merge({ ...changed, used_at: trx.fn.now(), issued: trx.raw('scep_challenges.issued + 1') });
}

/** A device whose identity is to be renewed. */
export interface RenewableDevice {
  /** UDID or EnrollmentID. */
  udid: string | null;
  /** Its identity (DER); null when an external CA issued it. */
  der: Buffer | null;
  /** The serial number that the present enrollment has proven. */
  proven_serial: string | null;
  managed_apple_account: string | null;
}

/**
 * The device whose identity is to be renewed, locked until the transaction ends. Undefined when
 * that enrollment has ended, or when its identity was revoked: the device must then enroll again.
 */
export async function findRenewedDevice(
  trx: Knex.Transaction,
  enrollment: { deviceId: number; enrollmentNumber: number },
): Promise<RenewableDevice | undefined> {
  const device = await trx('devices')
    .where({ id: enrollment.deviceId, enrollment_number: enrollment.enrollmentNumber })
    .whereIn('enrollment_state', ENROLLING)
    .forNoKeyUpdate()
    .first<Omit<RenewableDevice, 'der'> | undefined>(
      'proven_serial',
      'managed_apple_account',
      trx.raw('coalesce(udid, enrollment_id) as udid'),
    );
  // Read after the lock, so that a concurrent revocation is seen.
  const pin = await trx('device_identities as i')
    .leftJoin('certificates as c', (on) =>
      on.on('c.fingerprint', 'i.fingerprint').onVal('c.purpose', 'mdm.device'),
    )
    .where({ 'i.device_id': enrollment.deviceId, 'i.state': 'active' })
    .orderBy('i.changed_at', 'desc')
    .first<{ der: Buffer | null } | undefined>('c.der');
  return device === undefined || pin === undefined ? undefined : { ...device, ...pin };
}

const ENROLLING = ['authenticated', 'enrolled'];

/**
 * The pin of a certificate issued here. Locks its device, then the pin, until the transaction ends.
 */
export async function claimIdentity(
  trx: Knex.Transaction,
  fingerprint: Buffer,
): Promise<IdentityRow | undefined> {
  await lockHolder(trx, fingerprint);
  return await trx('device_identities as i')
    .join('certificates as c', 'c.fingerprint', 'i.fingerprint')
    .leftJoin('devices as d', 'd.id', 'i.device_id')
    .where('i.fingerprint', fingerprint)
    .forUpdate('i')
    .first<IdentityRow | undefined>(
      'i.fingerprint',
      'i.device_id',
      'i.state',
      'i.udid',
      'c.revoked_at',
      trx.raw(
        `coalesce(d.enrollment_state in ('authenticated', 'enrolled'), false) as is_enrolling`,
      ),
    );
}

/** Renewed certificates of a device that it has not used yet (DER), newest first. */
export async function listPendingRenewals(
  trx: Knex.Transaction,
  deviceId: number,
): Promise<Buffer[]> {
  const rows = await trx('device_identities as i')
    .join('certificates as c', 'c.fingerprint', 'i.fingerprint')
    .where({ 'i.device_id': deviceId, 'i.state': 'renewal' })
    .whereNull('c.revoked_at')
    .orderBy('c.id', 'desc')
    .limit(10)
    .select<{ der: Buffer }[]>('c.der');
  return rows.map((row) => row.der);
}

export interface Renewal {
  fingerprint: Buffer;
  deviceId: number;
  udid: string | null;
  notAfter: Date;
  renewAt: Date;
}

/** Pins a renewed certificate to its device; it becomes active when the device first uses it. */
export async function insertRenewal(trx: Knex.Transaction, renewal: Renewal): Promise<void> {
  await trx('device_identities').insert({
    fingerprint: renewal.fingerprint,
    device_id: renewal.deviceId,
    state: 'renewal',
    udid: renewal.udid,
    not_after: renewal.notAfter,
    renew_at: renewal.renewAt,
  });
}
