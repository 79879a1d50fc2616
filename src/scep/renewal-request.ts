import { type ParsedCertificate, parseCertificate } from '../crypto/certificate.js';
import type { ParsedCsr } from '../crypto/csr.js';
import { insertCertificate, type Transaction } from '../db/certificate-repository.js';
import type { Database } from '../db/database.js';
import {
  claimIdentity,
  type IdentityRow,
  insertRenewal,
  listPendingRenewals,
} from '../db/scep-repository.js';
import { inTransaction } from '../db/unit-of-work.js';
import type { CertificateAuthority } from '../pki/authority.js';
import { certificateRecord } from '../pki/certificate-record.js';
import type { Trust } from '../pki/trust.js';
import { FailInfo } from '../protocol/scep.js';
import { issueFor } from './issue.js';
import { ScepRefusal } from './refusal.js';

export interface RenewalDeps {
  db: Database;
  authority: CertificateAuthority;
  trust: Trust;
}

interface RenewableIdentity extends IdentityRow {
  device_id: number;
}

function refuse(reason: string): ScepRefusal {
  return new ScepRefusal(FailInfo.badRequest, reason);
}

/** Only what our own CA issued is renewed here, and only under the same name. */
function checkSigner(signer: ParsedCertificate, csr: ParsedCsr, deps: RenewalDeps): void {
  if (!signer.issuerRaw.equals(deps.authority.certificate.subjectRaw)) {
    throw refuse('the signer was not issued by this CA');
  }
  if (!deps.trust.isTrusted(signer)) throw refuse('the signer is not trusted');
  if (csr.subject !== '' && csr.subject !== signer.subject) {
    throw refuse('the request is for another name');
  }
}

async function claimRenewable(
  trx: Transaction,
  signer: ParsedCertificate,
): Promise<RenewableIdentity> {
  const identity = await claimIdentity(trx, signer.fingerprint);
  if (identity === undefined) throw refuse('the signer belongs to no device');
  const { device_id, state, revoked_at } = identity;
  if (revoked_at !== null) throw refuse('the signer was revoked');
  if (device_id === null || (state !== 'active' && state !== 'renewal')) {
    throw refuse(`the signer is the device's no longer (${state})`);
  }
  return { ...identity, device_id };
}

/** A request that comes again finds what it got the first time. */
async function findRenewed(
  trx: Transaction,
  deviceId: number,
  csr: ParsedCsr,
): Promise<ParsedCertificate | undefined> {
  const pending = await listPendingRenewals(trx, deviceId);
  return pending.map(parseCertificate).find(({ publicKey }) => publicKey.equals(csr.publicKey));
}

/**
 * A new certificate for a device that signs with the one it has. Both are good until the device
 * uses the new one.
 */
export async function certifyRenewal(
  csr: ParsedCsr,
  signer: ParsedCertificate,
  deps: RenewalDeps,
): Promise<ParsedCertificate> {
  checkSigner(signer, csr, deps);
  return await inTransaction(deps.db, async (trx) => {
    const identity = await claimRenewable(trx, signer);
    const renewed = await findRenewed(trx, identity.device_id, csr);
    if (renewed !== undefined) return renewed;
    const certificate = issueFor(csr, deps.authority, signer.subjectRaw);
    await insertCertificate(trx, certificateRecord(certificate, 'mdm.device'));
    await insertRenewal(trx, {
      fingerprint: certificate.fingerprint,
      deviceId: identity.device_id,
      udid: identity.udid,
    });
    return certificate;
  });
}
