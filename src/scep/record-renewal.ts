import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { insertCertificate, type Transaction } from '../db/pki/certificate-repository.js';
import { revokePins } from '../db/pki/identity-revocation.js';
import { insertRenewal } from '../db/pki/scep-repository.js';
import { renewalTime } from '../pki/authority/identity-life.js';
import { certificateRecord } from '../pki/certificates/certificate-record.js';

export interface RenewedDevice {
  deviceId: number;
  /** UDID or EnrollmentID. */
  udid: string | null;
}

/**
 * Stores a renewed certificate, pinned to the device that it was made for, which the caller holds.
 * One that was issued before and not used is revoked: at most one waits. Returns its id.
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
