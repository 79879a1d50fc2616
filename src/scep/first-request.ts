import { type ParsedCertificate, parseCertificate } from '../crypto/x509/certificate.js';
import type { ParsedCsr } from '../crypto/x509/csr.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { insertCertificate } from '../db/pki/certificate-repository.js';
import { markRevoked } from '../db/pki/identity-revocation.js';
import {
  type ChallengeUse,
  claimChallenge,
  findRenewedDevice,
  recordChallengeUse,
} from '../db/pki/scep-repository.js';
import { AppError } from '../errors.js';
import type { CertificateAuthority } from '../pki/authority/authority.js';
import type {
  EnrollmentChallenge,
  EnrollmentChallenges,
  RenewedEnrollment,
} from '../pki/authority/enrollment-challenge.js';
import { certificateRecord } from '../pki/certificates/certificate-record.js';
import { FailInfo } from '../protocol/scep/scep.js';
import { type CertificateName, issueFor, nameByFacts, nameOfRenewed } from './certificate-name.js';
import { claimEnrollment } from './enrollment-claim.js';
import { ScepRefusal } from './refusal.js';
import { type RenewedDevice, recordRenewal } from './renewal-request.js';

/** An issued certificate, with the request or link of its challenge. */
export interface Issued {
  certificate: ParsedCertificate;
  requestId?: number | null | undefined;
  linkId?: number | null | undefined;
}

export interface CertificationDeps {
  db: Database;
  authority: CertificateAuthority;
  challenges: EnrollmentChallenges;
}

/**
 * Issues a certificate for a challenge. A repeated request (the answer was lost) gets the same
 * certificate. A different one, as from a device that retries with a new key, replaces the first,
 * up to MAX_CERTIFICATES and until the device has authenticated. A challenge for a renewal is valid
 * for that enrollment alone, and its certificate is pinned to the device. The request or link of
 * another challenge is stored with its use, for the Authenticate. The server chooses the names
 * (`identityName`); a renewed identity keeps its names.
 */
export async function issueForChallenge(
  csr: ParsedCsr,
  { db, authority, challenges }: CertificationDeps,
): Promise<Issued> {
  const challenge = readChallenge(csr, challenges);
  const { nonce, renewal } = challenge;
  return await inTransaction(db, async (trx) => {
    const use = await claimChallenge(trx, nonce);
    if (use?.csr_fingerprint.equals(csr.fingerprint)) {
      const { requestId, linkId } = challenge;
      return { certificate: earlierCertificate(use), requestId, linkId };
    }
    const device = renewal && (await claimRenewedDevice(trx, { ...challenge, renewal }));
    const claim = await claimEnrollment(trx, challenge, use);
    if (use !== undefined) await revokeFormer(trx, use);
    const name = device?.name ?? (await nameByFacts(trx, claim.facts, nonce));
    const certificate = issueFor(csr, name, authority);
    const certificateId = await record(trx, certificate, device);
    const newUse = { nonce, csrFingerprint: csr.fingerprint, certificateId };
    await recordChallengeUse(trx, { ...newUse, ...claim.purpose });
    await claim.complete(certificateId);
    const { requestId, linkId } = claim.purpose;
    return { certificate, requestId, linkId };
  });
}

interface NamedDevice extends RenewedDevice {
  name: CertificateName;
}

function readChallenge(csr: ParsedCsr, challenges: EnrollmentChallenges): EnrollmentChallenge {
  const { challengePassword = '' } = csr;
  if (challengePassword === '') throw new ScepRefusal(FailInfo.badRequest, 'no challenge');
  try {
    return challenges.readChallenge(challengePassword);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new ScepRefusal(FailInfo.badRequest, 'the challenge is not valid', { cause });
  }
}

function earlierCertificate(use: ChallengeUse): ParsedCertificate {
  requireLive(use);
  return parseCertificate(use.der);
}

/** A challenge whose certificate was revoked issues no other. */
function requireLive({ revoked_at }: ChallengeUse): void {
  if (revoked_at === null) return;
  throw new ScepRefusal(FailInfo.badRequest, 'the certificate of this challenge was revoked');
}

async function claimRenewedDevice(
  trx: Transaction,
  { nonce, renewal }: EnrollmentChallenge & { renewal: RenewedEnrollment },
): Promise<NamedDevice> {
  const device = await findRenewedDevice(trx, renewal);
  if (device === undefined) {
    throw new ScepRefusal(FailInfo.badRequest, 'the enrollment of this challenge is over');
  }
  const name = await nameOfRenewed(trx, device, nonce);
  return { deviceId: renewal.deviceId, udid: device.udid, name };
}

async function revokeFormer(trx: Transaction, use: ChallengeUse): Promise<void> {
  if (use.locked_at !== null) throw new ScepRefusal(FailInfo.badRequest, 'the challenge is spent');
  requireLive(use);
  await markRevoked(trx, use.certificate_id, 'superseded');
}

async function record(
  trx: Transaction,
  certificate: ParsedCertificate,
  device: RenewedDevice | undefined,
): Promise<number> {
  if (device !== undefined) return await recordRenewal(trx, certificate, device);
  return await insertCertificate(trx, certificateRecord(certificate, 'mdm.device'));
}
