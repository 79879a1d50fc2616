import { type ParsedCertificate, parseCertificate } from '../crypto/x509/certificate.js';
import type { ParsedCsr } from '../crypto/x509/csr.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { insertCertificate, type Transaction } from '../db/pki/certificate-repository.js';
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

/** A certificate, and what it was made for. */
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

/** Whose certificate was revoked can't have another by the same challenge. */
function requireLive({ revoked_at }: ChallengeUse): void {
  if (revoked_at === null) return;
  throw new ScepRefusal(FailInfo.badRequest, 'the certificate of this challenge was revoked');
}

/**
 * A certificate for a challenge. The same request again (its answer was lost) gets the same
 * certificate; another one replaces the first, for devices try again with a new key, some times until
 * the device has authenticated with what it got. A challenge that was made to renew an identity does
 * so for that enrollment alone: its certificate is pinned to the device and good for nothing else.
 * What one was made for otherwise, a request or a link, is kept beside it for the Authenticate. The
 * server decides the names: `identityName`. A renewed identity keeps those that it has.
 */
export async function certifyFirstRequest(
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
    if (use !== undefined) await retire(trx, use);
    const name = device?.name ?? (await nameByFacts(trx, claim.facts, nonce));
    const certificate = issueFor(csr, name, authority);
    const certificateId = await record(trx, certificate, device);
    const made = { nonce, csrFingerprint: csr.fingerprint, certificateId };
    await recordChallengeUse(trx, { ...made, ...claim.purpose });
    await claim.complete(certificateId);
    const { requestId, linkId } = claim.purpose;
    return { certificate, requestId, linkId };
  });
}

interface NamedDevice extends RenewedDevice {
  name: CertificateName;
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

async function record(
  trx: Transaction,
  certificate: ParsedCertificate,
  device: RenewedDevice | undefined,
): Promise<number> {
  if (device !== undefined) return await recordRenewal(trx, certificate, device);
  return await insertCertificate(trx, certificateRecord(certificate, 'mdm.device'));
}

async function retire(trx: Transaction, use: ChallengeUse): Promise<void> {
  if (use.locked_at !== null) throw new ScepRefusal(FailInfo.badRequest, 'the challenge is spent');
  requireLive(use);
  await markRevoked(trx, use.certificate_id, 'superseded');
}
