import { type Request, type Response, Router } from 'express';
import { readOrganization } from '../../db/admin/settings-repository.js';
import { toAppError } from '../../db/connection/sqlstate.js';
import { AppError } from '../../errors.js';
import { sendPage } from '../../http/pages/html-page.js';
import { tlsTrust } from '../../pki/tls/tls-trust.js';
import { requireSignIn } from '../account/admission.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import { queryText } from '../send-profile.js';
import type { EnrollServices } from '../services.js';
import { landingPage, refusalPage } from './landing-page.js';

/** The landing page of an enrollment link, with or without a trailing slash. */
export function createLandingRoutes(services: EnrollServices): Router {
  const router = Router();
  router.get('/', (req, res) => sendLandingPage(req, res, services));
  router.all('/', methodNotAllowed('GET, HEAD'));
  return router;
}

async function sendLandingPage(req: Request, res: Response, services: EnrollServices) {
  const organization = await organizationName(services);
  const token = queryText(req, 'token');
  const refusal = await refusalOf(token, services);
  if (refusal !== undefined) {
    services.logger.info({ reason: refusal }, 'enrollment landing page: enrollment refused');
    const body = refusalPage(organization, refusal);
    sendPage(res, { status: 403, title: `Enrollment: ${organization}`, body });
    return;
  }
  const body = landingPage({
    organization,
    ...(await addresses(token, services)),
    hasAccounts: await hasAccounts(services),
  });
  sendPage(res, { status: 200, title: `Enroll with ${organization}`, body });
}

async function addresses(token: string | undefined, { db, publicUrl, tlsChain }: EnrollServices) {
  const query = token === undefined ? '' : `?token=${encodeURIComponent(token)}`;
  const needsTrust = (await tlsTrust(db, tlsChain())).length > 0;
  return {
    profileUrl: `${publicUrl}/enroll/profile${query}`,
    overTheAirUrl: `${publicUrl}/enroll/ota${query}`,
    trustUrl: needsTrust ? `${publicUrl}/enroll/trust.mobileconfig` : undefined,
  };
}

/** Whether people can sign in with an account to enroll. */
async function hasAccounts(services: EnrollServices): Promise<boolean> {
  try {
    await requireSignIn(services);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status === 403) return false;
    throw error;
  }
}

async function organizationName({ db }: EnrollServices): Promise<string> {
  try {
    return (await readOrganization(db.knex)).name;
  } catch (error) {
    throw toAppError(error);
  }
}

/** Why this request may not enroll; undefined when it may. */
async function refusalOf(
  token: string | undefined,
  { policy }: EnrollServices,
): Promise<string | undefined> {
  try {
    await policy.requireAllowed(token);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === 'enrollment_closed') return error.message;
    throw error;
  }
}
