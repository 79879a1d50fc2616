import { type Request, type Response, Router } from 'express';
import type { ParsedCertificate } from '../crypto/x509/certificate.js';
import { isValidAt } from '../crypto/x509/certificate-path.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { type Exchange, findExchange } from '../db/enroll/enrollment-claim-repository.js';
import {
  claimOtaRequest,
  type EnrollmentRequestRow,
} from '../db/enroll/enrollment-request-repository.js';
import { AppError } from '../errors.js';
import {
  type IdentifiedMachine,
  requireChallenge,
  requireIdentified,
} from '../protocol/mdm/machine-info.js';
import { buildIdentityProfile, buildProfileService } from '../protocol/profiles/ota-profiles.js';
import { deviceFacts, requestEnd, requireDeviceStillAllowed } from './device-request.js';
import {
  type EnrollmentSettings,
  enrollmentProfile,
  identityRequest,
  readEnrollmentSettings,
} from './enrollment-profile.js';
import { methodNotAllowed } from './method-not-allowed.js';
import { queryText, sendProfile } from './send-profile.js';
import type { EnrollServices } from './services.js';
import {
  readSignedDeviceInfo,
  type SignedDeviceInfo,
  unknownSigner,
} from './signed-device-info.js';

/** Enrollment over the air. */
export function createOtaRoutes(services: EnrollServices): Router {
  const router = Router();
  router.get('/ota', (req, res) => sendProfileService(req, res, services));
  router.all('/ota', methodNotAllowed('GET, HEAD'));
  router.post('/ota_authenticate', async (req, res) => {
    const profile = await continueExchange(await readSignedDeviceInfo(req, services), services);
    sendProfile({ req, res }, { profile, filename: 'enroll.mobileconfig' }, services);
  });
  router.all('/ota_authenticate', methodNotAllowed('POST'));
  return router;
}

async function sendProfileService(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const { policy, otaChallenges, publicUrl } = services;
  const { linkId } = await policy.requireAllowed(queryText(req, 'token'));
  const { organization } = await readOtaSettings(services);
  const profile = buildProfileService({
    organization,
    url: `${publicUrl}/enroll/ota_authenticate`,
    challenge: otaChallenges.issueChallenge({ linkId }),
  });
  sendProfile({ req, res }, { profile, filename: 'ota.mobileconfig' }, services);
}

/**
 * Answers a device that enrolls over the air. The signer shows the phase: signed with its Apple
 * certificate, the device gets a profile with an identity; signed with that identity, the profile
 * that enrolls it. AppError 4xx.
 */
async function continueExchange(
  signed: SignedDeviceInfo,
  services: EnrollServices,
): Promise<Buffer> {
  const { signer, chain } = signed;
  if (services.factoryCas.judge(signer, chain).ok)
    return await buildIdentityAnswer(signed, services);
  const exchange = await find(signer.fingerprint, services);
  if (exchange === undefined) {
    throw unknownSigner(signed, 'issued neither by a device CA nor over the air');
  }
  const reason = refusalReason(exchange, signer);
  if (reason !== undefined) throw unknownSigner(signed, `${reason} (${exchange.request.id})`);
  return await buildEnrollmentAnswer(signed, exchange.request, services);
}

/**
 * The settings for over-the-air enrollment. AppError conflict 409 with an external CA, whose
 * certificates cannot be bound to an exchange; 503 if no identities are offered.
 */
async function readOtaSettings({ db }: Pick<EnrollServices, 'db'>): Promise<EnrollmentSettings> {
  const settings = await readEnrollmentSettings(db.knex);
  const { source_type: source } = settings.scep;
  if (source === 'ExternalSCEP') {
    const message = 'enrollment over the air needs identities by the internal SCEP';
    throw new AppError('conflict', 409, `${message}: use /enroll/profile instead`);
  }
  if (source === 'InternalPKCS12') {
    throw new AppError('unavailable', 503, 'identities as PKCS#12 are not offered');
  }
  return settings;
}

async function buildIdentityAnswer(
  signed: SignedDeviceInfo,
  services: EnrollServices,
): Promise<Buffer> {
  const info = requireIdentified(signed.info);
  const { nonce, linkId } = services.otaChallenges.readChallenge(requireChallenge(info));
  const settings = await readOtaSettings(services);
  await requireDeviceStillAllowed(info, { linkId }, services);
  const expiresAt = requestEnd();
  const requestId = await inTransaction(services.db, (trx) =>
    claimOtaRequest(trx, {
      ...deviceFacts(info, signed),
      method: 'ota',
      nonce,
      expires_at: expiresAt,
      enrollment_link_id: linkId ?? null,
    }),
  );
  if (requestId === undefined) throw usedChallenge(info);
  const { serial, product } = info;
  services.logger.info(
    { requestId, serial, product },
    'over-the-air enrollment: identity profile sent',
  );
  const scep = identityRequest(settings, services, { requestId, expiresAt, isExchange: true });
  return buildIdentityProfile({ organization: settings.organization, scep });
}

async function find(fingerprint: Buffer, { db }: EnrollServices): Promise<Exchange | undefined> {
  try {
    return await findExchange(db.knex, fingerprint);
  } catch (error) {
    throw toAppError(error);
  }
}

/** Why this certificate, which the exchange issued, cannot continue it. */
function refusalReason(exchange: Exchange, signer: ParsedCertificate): string | undefined {
  if (exchange.revoked_at !== null) return 'the certificate was revoked';
  if (!isValidAt(signer, new Date())) return 'the certificate is not valid now';
  if (exchange.request.enrolled_at !== null)
    return 'the device has already enrolled with this request';
  return exchange.is_expired ? 'the request has expired' : undefined;
}

async function buildEnrollmentAnswer(
  signed: SignedDeviceInfo,
  request: EnrollmentRequestRow,
  services: EnrollServices,
): Promise<Buffer> {
  const info = requireIdentified(signed.info);
  requireSameDevice(info, request);
  const settings = await readOtaSettings(services);
  const { id: requestId, enrollment_link_id: linkId, expires_at: expiresAt } = request;
  const admission = { linkId: linkId ?? undefined, isCounted: true };
  await requireDeviceStillAllowed(info, admission, services);
  services.logger.info({ requestId, serial: info.serial }, 'a device may enroll over the air');
  const challenge = { requestId, expiresAt };
  return enrollmentProfile(settings, services, { challenge, serial: info.serial });
}

function usedChallenge({ udid, serial }: IdentifiedMachine): AppError {
  return new AppError('forbidden', 403, 'the enrollment challenge is not valid', {
    cause: new Error(`already used; now by the device ${serial} (${udid})`),
  });
}

function requireSameDevice(
  { udid, serial }: IdentifiedMachine,
  request: EnrollmentRequestRow,
): void {
  const { udid: boundUdid, serial_number: boundSerial } = request;
  if (udid.toLowerCase() === boundUdid?.toLowerCase() && serial === boundSerial) return;
  throw new AppError('forbidden', 403, 'the device is not the one that began', {
    cause: new Error(`${serial} (${udid}) instead of ${boundSerial} (${boundUdid})`),
  });
}
