import {
  type ClaimedRequest,
  claimLink,
  claimRequest,
  countLinkUse,
  noteExchangeCertificate,
} from '../db/enrollment-claim-repository.js';
import { linkStatus } from '../db/enrollment-link-repository.js';
import type { ChallengeUse } from '../db/scep-repository.js';
import type { Transaction } from '../db/unit-of-work.js';
import type { EnrollmentChallenge } from '../pki/enrollment-challenge.js';
import { FailInfo } from '../protocol/scep.js';
import { ScepRefusal } from './refusal.js';

/** What a challenge was made for, held until the certificate is issued. */
export interface EnrollmentClaim {
  requestId: number | null;
  linkId: number | null;
  /** Notes the certificate that was issued. */
  complete(certificateId: number): Promise<void>;
}

function refuse(reason: string): ScepRefusal {
  return new ScepRefusal(FailInfo.badRequest, reason);
}

/**
 * Whether the request and the link of the challenge still allow a certificate. The first one that is
 * issued for a challenge, or for a request, is one use of the link. Refused, nothing is changed.
 */
export async function claimEnrollment(
  trx: Transaction,
  challenge: EnrollmentChallenge,
  use: ChallengeUse | undefined,
): Promise<EnrollmentClaim> {
  const { requestId } = challenge;
  const request = requestId === undefined ? undefined : await claimOpenRequest(trx, requestId);
  const linkId = challenge.linkId ?? request?.enrollment_link_id ?? null;
  const isCounted = use !== undefined || request?.has_certificate === true;
  if (linkId !== null) await useLink(trx, linkId, isCounted);
  return {
    requestId: requestId ?? null,
    linkId,
    async complete(certificateId) {
      if (request === undefined || !isForExchange(request, use)) return;
      await noteExchangeCertificate(trx, { id: request.id, certificateId });
    },
  };
}

async function claimOpenRequest(trx: Transaction, id: number): Promise<ClaimedRequest> {
  const request = await claimRequest(trx, id);
  if (request === undefined) throw refuse('the enrollment request of this challenge is gone');
  if (request.enrolled_at !== null) throw refuse('the enrollment request has enrolled its device');
  if (request.is_expired) throw refuse('the enrollment request of this challenge has expired');
  return request;
}

async function useLink(trx: Transaction, id: number, isCounted: boolean): Promise<void> {
  const link = await claimLink(trx, id);
  if (link === undefined) throw refuse('the enrollment link of this challenge was deleted');
  const status = linkStatus(isCounted ? { ...link, max_uses: null } : link);
  if (status !== 'usable') throw refuse(`the enrollment link ${id} is ${status}`);
  if (!isCounted) await countLinkUse(trx, id);
}

/** Over the air the first certificate of a request, or what replaces it, is for the second phase. */
function isForExchange(request: ClaimedRequest, use: ChallengeUse | undefined): boolean {
  if (request.method !== 'ota') return false;
  return request.certificate_id === null || request.certificate_id === use?.certificate_id;
}
