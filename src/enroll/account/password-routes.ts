import { randomUUID } from 'node:crypto';
import { type Request, type Response, Router } from 'express';
import { verifyPassword } from '../../crypto/secrets/password-hash.js';
import { readOrganization } from '../../db/admin/settings-repository.js';
import { toAppError } from '../../db/connection/sqlstate.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import { type EnrollmentUserRow, noteSignIn } from '../../db/enroll/enrollment-user-repository.js';
import { writeAudit } from '../../events/audit.js';
import { sendPage } from '../../http/pages/html-page.js';
import { requestIdOf, sourceAddressOf } from '../../http/requests/request-context.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import { queryText } from '../send-profile.js';
import { findUser, isAccountName, requireOffered } from './admission.js';
import type { AccountServices } from './services.js';
import { FORM_ACTION, finishSignIn, signInForm } from './sign-in-pages.js';
import { isSame } from './signed-text.js';

const MAX_FORM = 8 * 1024;

const STALE = 'This page was open for too long, or your browser refuses cookies. Try again.';
/** One text for both, so that it does not reveal whether the account exists. */
const WRONG = 'The account or the password is wrong.';

/** Sign-in with a password that this server stores, by a form without scripts. */
export function createPasswordRoutes(services: AccountServices): Router {
  const router = Router();
  router.get('/login', async (req, res) => {
    requireOffered(services);
    const hint = queryText(req, 'user-identifier');
    await sendForm(res, services, { account: isAccountName(hint) ? hint : '' });
  });
  router.post('/login', (req, res) => signIn(req, res, services));
  router.all('/login', methodNotAllowed('GET, HEAD, POST'));
  return router;
}

async function sendForm(
  res: Response,
  { db, sessions }: AccountServices,
  { account, problem }: { account: string; problem?: string },
): Promise<void> {
  const { name: organization } = await readOrganization(db.knex).catch((error: unknown) => {
    throw toAppError(error);
  });
  const { csrf } = sessions.begin(res);
  const body = signInForm({ organization, account, csrf, problem });
  const status = problem === undefined ? 200 : 403;
  sendPage(res, { status, title: `Sign in - ${organization}`, body, formAction: FORM_ACTION });
}

async function signIn(req: Request, res: Response, services: AccountServices): Promise<void> {
  requireOffered(services);
  const form = new URLSearchParams((await services.bodies.read(req, MAX_FORM)).toString('utf8'));
  const account = (form.get('account') ?? '').trim();
  const shown = isAccountName(account) ? account : '';
  const session = services.sessions.find(req);
  if (session === undefined || !isSame(session.csrf, form.get('csrf') ?? '')) {
    await sendForm(res, services, { account: shown, problem: STALE });
    return;
  }
  const password = form.get('password') ?? '';
  const { user, isRight } = await check(services, res, { account: shown, password });
  if (user === undefined || !isRight) {
    services.logger.warn({ account: shown, peer: sourceAddressOf(res) }, 'sign-in refused');
    await sendForm(res, services, { account: shown, problem: WRONG });
    // After the answer, so that its time does not reveal whether the account exists.
    if (user !== undefined) await recordRefusal(services, res, user);
    return;
  }
  await record(services, res, user);
  await finishSignIn(res, user.account, services);
}

/** Checks account and password. AppError 429 after too many wrong passwords. */
async function check(
  services: AccountServices,
  res: Response,
  { account, password }: { account: string; password: string },
): Promise<{ user: EnrollmentUserRow | undefined; isRight: boolean }> {
  const attempt = { address: sourceAddressOf(res), account };
  services.limits.begin(attempt);
  const user = account === '' ? undefined : await findUser(services, account);
  // For an unknown user it returns false after the same time, so that timing does not reveal accounts.
  const isRight = await verifyPassword(password, user?.password_hash);
  if (isRight) services.limits.succeed(attempt);
  return { user, isRight };
}

async function record({ db }: AccountServices, res: Response, user: EnrollmentUserRow) {
  await inTransaction(db, async (trx) => {
    await noteSignIn(trx, user.id);
    await audit(trx, { res, user, isRefused: user.is_disabled });
  });
}

async function recordRefusal(
  { db, logger }: AccountServices,
  res: Response,
  user: EnrollmentUserRow,
): Promise<void> {
  try {
    await inTransaction(db, (trx) => audit(trx, { res, user, isRefused: true }));
  } catch (error) {
    logger.error(
      { err: error, user: user.id },
      'a refused sign-in is missing from the audit trail',
    );
  }
}

async function audit(
  trx: Transaction,
  { res, user, isRefused }: { res: Response; user: EnrollmentUserRow; isRefused: boolean },
): Promise<void> {
  const actor = { name: user.account, role: 'enrollment_user' };
  const requestId = requestIdOf(res) || randomUUID();
  await writeAudit(trx, {
    context: { actor, requestId, sourceAddress: sourceAddressOf(res) },
    action: 'enrollment_users.sign_in',
    targetType: 'enrollment_users',
    targetId: user.id,
    outcome: isRefused ? 'refused' : 'success',
    details: { account: user.account, is_disabled: user.is_disabled },
  });
}
