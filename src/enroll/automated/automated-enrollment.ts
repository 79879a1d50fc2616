import { type Request, type Response, Router } from 'express';
import { toAppError } from '../../db/connection/sqlstate.js';
import {
  type DepDevice,
  findDepDevice,
  insertAutomatedRequest,
  storeRefusedContact,
} from '../../db/dep/dep-device-repository.js';
import type { EnrollmentRequest } from '../../db/enroll/enrollment-request-repository.js';
import { AppError } from '../../errors.js';
import { deviceErrorHandler } from '../../http/errors/device-errors.js';
import type { IdentifiedMachine } from '../../protocol/mdm/machine-info.js';
import { deviceFacts } from '../device-request.js';
import { createEnrollmentProfile } from '../enrollment-profile.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import { sendProfile } from '../send-profile.js';
import type { EnrollServices } from '../services.js';
import { readIdentifiedDevice } from '../signed-device-info.js';
import { sendAnchorCertificates } from '../trust-routes.js';
import { judgeMinimumOs, sendUpdateRequired } from './minimum-os.js';

/** The lifetime of a challenge. */
const REQUEST_LIFE_MS = 24 * 60 * 60 * 1000;

/** Routes under /dep for devices in Automated Device Enrollment. */
export function createDepRouter(services: EnrollServices): Router {
  const router = Router();
  router.post('/enroll', (req, res) => enrollAutomatically(req, res, services));
  router.all('/enroll', methodNotAllowed('POST'));
  router.get('/anchor_certs', sendAnchorCertificates(services));
  router.all('/anchor_certs', methodNotAllowed('GET, HEAD'));
  router.use(deviceErrorHandler(services.logger, { isExplained: true }));
  return router;
}

/** /MDMServiceConfig, where Apple Configurator looks up how its devices enroll. */
export function createServiceConfigRouter({
  publicUrl,
  logger,
}: Pick<EnrollServices, 'publicUrl' | 'logger'>): Router {
  const config = JSON.stringify({
    dep_enrollment_url: `${publicUrl}/dep/enroll`,
    dep_anchor_certs_url: `${publicUrl}/dep/anchor_certs`,
    trust_profile_url: `${publicUrl}/enroll/trust.mobileconfig`,
  });
  const router = Router();
  router.get('/MDMServiceConfig', (_req, res) => {
    // Spelled as in Apple's protocol.
    res.setHeader('Content-Type', 'application/json;charset=utf8');
    res.end(config);
  });
  router.all('/MDMServiceConfig', methodNotAllowed('GET, HEAD'));
  router.use('/MDMServiceConfig', deviceErrorHandler(logger, { isExplained: true }));
  return router;
}

/** Answers a device in Setup Assistant that Automated Device Enrollment has sent to this server. */
async function enrollAutomatically(
  req: Request,
  res: Response,
  services: EnrollServices,
): Promise<void> {
  const { signed, info } = await readIdentifiedDevice(req, services);
  const dep = await requireAllowedDevice(info, services);
  const verdict = judgeMinimumOs(info, dep);
  const { serial, product, osVersion } = info;
  const about = { serial, product, osVersion };
  if (verdict.kind === 'update') {
    const { version } = verdict;
    services.logger.info(
      { ...about, minimum: version },
      'a device must update its system to enroll',
    );
    await recordOnDevice(
      serial,
      `the device was asked to update to ${version} first; it has ${osVersion ?? 'an older version'}`,
      services,
    );
    sendUpdateRequired(res, version);
    return;
  }
  const facts = deviceFacts(info, signed);
  const requestId = await storeRequest(
    { ...facts, unmet_minimum_os_version: verdict.unmet },
    services,
  );
  const profile = await createEnrollmentProfile(services, { challenge: { requestId }, serial });
  services.logger.info({ ...about, requestId }, 'automated enrollment profile sent');
  sendProfile({ req, res }, { profile, filename: 'enroll.mobileconfig' }, services);
}

async function requireAllowedDevice(
  info: IdentifiedMachine,
  services: EnrollServices,
): Promise<DepDevice> {
  try {
    services.policy.requireNotClosed();
    const dep = await findDevice(info, services);
    requireKnownDevice(info, dep, services);
    return dep;
  } catch (error) {
    if (error instanceof AppError && error.status === 403) {
      await recordOnDevice(info.serial, `refused: ${error.message}`, services);
    }
    throw error;
  }
}

/** Shows the admin a failure at the serial number; an error here does not change the device's answer. */
async function recordOnDevice(
  serial: string,
  failure: string,
  { db, logger }: EnrollServices,
): Promise<void> {
  try {
    await storeRefusedContact(db.knex, { serial, failure });
  } catch (error) {
    logger.warn({ err: error, serial }, 'the refusal of a device could not be stored');
  }
}

async function findDevice(
  { serial }: IdentifiedMachine,
  { db }: EnrollServices,
): Promise<DepDevice> {
  try {
    return await findDepDevice(db.knex, serial);
  } catch (error) {
    throw toAppError(error);
  }
}

/** With ENROLLMENT=link only known devices are allowed: Setup Assistant cannot open a link. */
function requireKnownDevice(
  { serial }: IdentifiedMachine,
  { is_known: isKnown, has_accounts: hasAccounts }: DepDevice,
  { config }: EnrollServices,
): void {
  const isRequired = config.enrollment === 'link' || (config.adeOnlyKnown ?? hasAccounts);
  if (isKnown || !isRequired) return;
  const message =
    `serial number ${serial} is not known from Automated Device Enrollment: assign the device to ` +
    'this server at Apple and sync the account, or set is_dep on the device';
  throw new AppError('forbidden', 403, message);
}

async function storeRequest(
  facts: Omit<EnrollmentRequest, 'method' | 'expires_at'> & { serial_number: string },
  { db }: EnrollServices,
): Promise<number> {
  const expires_at = new Date(Date.now() + REQUEST_LIFE_MS);
  try {
    return await insertAutomatedRequest(db.knex, { ...facts, method: 'automated', expires_at });
  } catch (error) {
    throw toAppError(error);
  }
}
