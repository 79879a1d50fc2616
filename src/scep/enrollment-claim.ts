import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  type ClaimedRequest,
  claimLink,
  claimRequest,
  countLinkUse,
  noteExchangeCertificate,
} from '../db/enroll/enrollment-claim-repository.js';
import { LINK_FAULTS, linkStatus } from '../db/enroll/enrollment-link-repository.js';
import { markRevoked } from '../db/pki/identity-revocation.js';
import type { ChallengeUse, NewChallengeUse } from '../db/pki/scep-repository.js';
import type { EnrollmentChallenge } from '../pki/authority/enrollment-challenge.js';
import type { ProvenFacts } from '../pki/authority/identity-name.js';
import { FailInfo } from '../protocol/scep/scep.js';
import { ScepRefusal } from './refusal.js';

/**
 * A device may retry with a new key, which revokes its former certificate. The limit keeps a client
 * from filling the revocation list.
 */
const MAX_CERTIFICATES = 1 + 10;

/** The request and link of a challenge, locked until the certificate is issued. */
export interface EnrollmentClaim {
  purpose: Pick<NewChallengeUse, 'requestId' | 'linkId' | 'isExchange'>;
  /** The facts that the request has proven. */
  facts: ProvenFacts;
  /** Records the issued certificate. */
  complete(certificateId: number): Promise<void>;
}

/**
 * Checks that the request and the link of the challenge still allow a certificate. The first one
 * issued for a challenge, or for a request, counts as one use of the link. A refusal changes
 * nothing.
 */
export async function claimEnrollment(
  trx: Transaction,
  challenge: EnrollmentChallenge,
  use: ChallengeUse | undefined,
): Promise<EnrollmentClaim> {
  const { requestId, isExchange = false } = challenge;
  const request = requestId === undefined ? undefined : await claimOpenRequest(trx, requestId);
  const linkId = challenge.linkId ?? request?.enrollment_link_id ?? null;
  const { enrollment, exchange } = request?.issued ?? { enrollment: 0, exchange: 0 };
  requireFew(use?.issued ?? 0);
  requireFew(isExchange ? exchange : enrollment);
  const isCounted = use !== undefined || enrollment + exchange > 0;
  if (linkId !== null) await useLink(trx, linkId, isCounted);
  return {
    purpose: { requestId: requestId ?? null, linkId, isExchange },
    facts: {
      udid: request?.proven_udid,
      serialNumber: request?.proven_serial,
      account: request?.account,
    },
    async complete(certificateId) {
      if (request !== undefined && isExchange) await replaceExchange(trx, request, certificateId);
    },
  };
}

async function claimOpenRequest(trx: Transaction, id: number): Promise<ClaimedRequest> {
  const request = await claimRequest(trx, id);
  if (request === undefined) throw refuse('the enrollment request of this challenge is gone');
  if (request.enrolled_at !== null) throw refuse('the enrollment request has enrolled its device');
  if (request.is_expired) throw refuse('the enrollment request of this challenge has expired');
  if (request.is_account_disabled)
    throw refuse('the account of the enrollment request is disabled');
  return request;
}

function refuse(reason: string, shown = reason): ScepRefusal {
  return new ScepRefusal(FailInfo.badRequest, reason, { shown });
}

function requireFew(issued: number): void {
  if (issued >= MAX_CERTIFICATES) throw refuse('the challenge was used too often');
}

async function useLink(trx: Transaction, id: number, isCounted: boolean): Promise<void> {
  const link = await claimLink(trx, id);
  if (link === undefined) throw refuse('the enrollment link of this challenge was deleted');
  const status = linkStatus(isCounted ? { ...link, max_uses: null } : link);
  if (status !== 'usable') {
    throw refuse(`the enrollment link ${id} is ${status}`, LINK_FAULTS[status]);
  }
  if (!isCounted) await countLinkUse(trx, id);
}

/**
 * The exchange continues with this certificate; an earlier one, whose answer was lost, is revoked.
 */
async function replaceExchange(
  trx: Transaction,
  { id, certificate_id: former }: ClaimedRequest,
  certificateId: number,
): Promise<void> {
  if (former !== null) await markRevoked(trx, former, 'superseded');
  await noteExchangeCertificate(trx, { id, certificateId });
}
