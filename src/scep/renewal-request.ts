import { type ParsedCertificate, parseCertificate } from '../crypto/x509/certificate.js';
import type { ParsedCsr } from '../crypto/x509/csr.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { insertCertificate } from '../db/pki/certificate-repository.js';
import { revokePins } from '../db/pki/identity-revocation.js';
import {
  claimIdentity,
  type IdentityRow,
  insertRenewal,
  listPendingRenewals,
} from '../db/pki/scep-repository.js';
import type { CertificateAuthorities } from '../pki/authority/authorities.js';
import { renewalTime } from '../pki/authority/authority.js';
import { certificateRecord } from '../pki/certificates/certificate-record.js';
import type { Trust } from '../pki/trust/trust.js';
import { FailInfo } from '../protocol/scep/scep.js';
import { issueFor, nameOf } from './certificate-name.js';
import { ScepRefusal } from './refusal.js';

export interface RenewalDeps {
  db: Database;
  authorities: CertificateAuthorities;
  trust: Trust;
}

interface RenewableIdentity extends IdentityRow {
  device_id: number;
}

/**
 * Issues a new certificate for a device that signs with its present one, with the names of that
 * one; those in the request are ignored. Both are valid until the device uses the new one.
 */
export async function issueRenewal(
  csr: ParsedCsr,
  signer: ParsedCertificate,
  deps: RenewalDeps,
): Promise<ParsedCertificate> {
  checkSigner(signer, deps);
  return await inTransaction(deps.db, async (trx) => {
    const identity = await claimRenewable(trx, signer);
    const renewed = await findRenewed(trx, identity.device_id, csr);
    if (renewed !== undefined) return renewed;
    const certificate = issueFor(csr, nameOf(signer), deps.authorities.current);
    await recordRenewal(trx, certificate, { deviceId: identity.device_id, udid: identity.udid });
    return certificate;
  });
}

export interface RenewedDevice {
  deviceId: number;
  /** UDID or EnrollmentID. */
  udid: string | null;
}

/**
 * Stores a renewed certificate, pinned to its device, which the caller has locked. A former renewal
 * that the device has not used is revoked: at most one is pending. Returns its id.
 */
export async function recordRenewal(
  trx: Transaction,
  certificate: ParsedCertificate,
  device: RenewedDevice,
): Promise<number> {
  const { deviceId } = device;
  await revokePins(trx, { deviceId, states: ['renewal'], reason: 'superseded' });
  const id = await insertCertificate(trx, certificateRecord(certificate, 'mdm.device'));
  const { fingerprint, notAfter } = certificate;
  await insertRenewal(trx, { ...device, fingerprint, notAfter, renewAt: renewalTime(certificate) });
  return id;
}

/**
 * Only certificates of this server's CAs are renewed here, also expired ones within the grace
 * period: `claimRenewable` checks that the certificate is pinned to a device.
 */
function checkSigner(signer: ParsedCertificate, deps: RenewalDeps): void {
  const issuers = deps.authorities.all().map(({ certificate }) => certificate);
  if (!issuers.some(({ subjectRaw }) => signer.issuerRaw.equals(subjectRaw))) {
    throw refuse('the signer was not issued by this CA');
  }
  const issuerTrust = deps.trust.issuerTrustOf({ certificate: signer });
  if (!issuers.some(({ fingerprint }) => issuerTrust?.issuer.equals(fingerprint))) {
    throw refuse('the signer is not trusted');
  }
}

function refuse(reason: string): ScepRefusal {
  return new ScepRefusal(FailInfo.badRequest, reason);
}

async function claimRenewable(
  trx: Transaction,
  signer: ParsedCertificate,
): Promise<RenewableIdentity> {
  const identity = await claimIdentity(trx, signer.fingerprint);
  if (identity === undefined) throw refuse('the signer belongs to no device');
  const { device_id, state, revoked_at, is_enrolling } = identity;
  if (revoked_at !== null) throw refuse('the signer was revoked');
  // Otherwise renewals could be chained that the device has never used.
  if (state === 'renewal') throw refuse('the signer was not used by the device yet');
  if (device_id === null || state !== 'active') {
    throw refuse(`the signer is no longer the device's (${state})`);
  }
  if (!is_enrolling) throw refuse('the enrollment of the signer is over');
  return { ...identity, device_id };
}

/** The certificate that a repeated request got the first time. */
async function findRenewed(
  trx: Transaction,
  deviceId: number,
  csr: ParsedCsr,
): Promise<ParsedCertificate | undefined> {
  const pending = await listPendingRenewals(trx, deviceId);
  return pending.map(parseCertificate).find(({ publicKey }) => publicKey.equals(csr.publicKey));
}
