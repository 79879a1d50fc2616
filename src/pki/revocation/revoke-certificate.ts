import type { Transaction } from '../../db/connection/unit-of-work.js';
import { certificateUses } from '../../db/pki/certificate-uses.js';
import { endRenewal, markRevoked, revokePins } from '../../db/pki/identity-revocation.js';
import {
  countDependents,
  lockRevocable,
  type RevocableCertificate,
} from '../../db/pki/revocation-repository.js';
import { AppError, notFound } from '../../errors.js';
import { requireNotServed } from '../certificates/certificate-checks.js';

/** The permanent reasons of RFC 5280 5.3.1: without certificateHold and removeFromCRL. */
export const REVOCATION_REASONS = [
  'unspecified',
  'keyCompromise',
  'cACompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'privilegeWithdrawn',
] as const;

export type StoredRevocationReason = (typeof REVOCATION_REASONS)[number];

export interface Revocation {
  id: number;
  reason: StoredRevocationReason;
  /** Revokes a certificate that devices depend on, too. */
  isForced: boolean;
  /** HTTPS is served with a stored certificate, so the last of them may not be revoked. */
  servesStored?: boolean | undefined;
}

export interface Revoked {
  /** False when it was revoked before: nothing was changed. */
  isNew: boolean;
  /** It was a CA, so certificates that it issued are no longer trusted. */
  isAuthority: boolean;
  /** The device that must enroll again. */
  device?: LockedOut;
}

export interface LockedOut {
  id: number;
  /** Ids of its further certificates, which were revoked along with the one. */
  further: number[];
}

const FORCE = 'revoke it all the same with force=true';

/**
 * Revokes a certificate inside the caller's transaction. AppError 404; 409 in_use for the issuing
 * CA, and unless forced for a certificate that devices depend on. With one identity of a device all
 * its identities are revoked, including renewed ones.
 */
export async function revoke(
  trx: Transaction,
  { id, reason, isForced, servesStored = false }: Revocation,
): Promise<Revoked> {
  const certificate = await lockRevocable(trx, id);
  if (certificate === undefined) throw notFound(`certificates ${id}`);
  const isAuthority = certificate.purpose === 'mdm.cacert';
  if (certificate.revoked_at !== null) return { isNew: false, isAuthority };
  if (certificate.issues_identities) {
    const first = 'make another one the issuing CA first: muster ca rotate';
    throw inUse(`the identities of devices are issued by this CA; ${first}`);
  }
  if (!isForced) await requireNoDependents(trx, certificate);
  if (!isForced && servesStored) await requireNotServed(trx, id, FORCE);
  const deviceId = await markRevoked(trx, id, reason);
  if (deviceId === null) return { isNew: true, isAuthority };
  return { isNew: true, isAuthority, device: await lockOut(trx, deviceId, reason) };
}

function inUse(why: string): AppError {
  return new AppError('in_use', 409, why);
}

async function requireNoDependents(
  trx: Transaction,
  { id, purpose }: RevocableCertificate,
): Promise<void> {
  if (purpose === 'mdm.cacert') {
    const count = await countDependents(trx, id);
    const who = count === 1 ? 'device identifies itself' : 'devices identify themselves';
    if (count > 0) throw inUse(`${count} enrolled ${who} by what this CA has issued; ${FORCE}`);
  }
  if (purpose === 'mdm.pushcert' && (await certificateUses(trx, id))?.pushes) {
    throw inUse(`enrolled devices get their pushes by this certificate alone; ${FORCE}`);
  }
}

async function lockOut(
  trx: Transaction,
  id: number,
  reason: StoredRevocationReason,
): Promise<LockedOut> {
  const states = ['active', 'renewal'] as const;
  const further = await revokePins(trx, { deviceId: id, states, reason });
  await endRenewal(trx, id);
  return { id, further };
}
