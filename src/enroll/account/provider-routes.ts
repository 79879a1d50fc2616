import { type Request, type Response, Router } from 'express';
import { AppError } from '../../errors.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import { queryText } from '../send-profile.js';
import { isAccountName, requireOffered } from './admission.js';
import type { IdentityProvider } from './identity-provider.js';
import type { AccountServices } from './services.js';
import { finishSignIn } from './sign-in-pages.js';

/** Sign-in at the organization's identity provider: the redirect and its callback. */
export function createProviderRoutes(
  services: AccountServices,
  provider: IdentityProvider,
): Router {
  const router = Router();
  router.get('/login', async (req, res) => {
    requireOffered(services);
    const hint = queryText(req, 'user-identifier');
    const session = services.sessions.begin(res);
    const url = await provider.authorizationUrl(session, isAccountName(hint) ? hint : undefined);
    res.status(302).setHeader('Location', url.href);
    res.end();
  });
  router.get('/callback', (req, res) => finish({ req, res }, services, provider));
  router.all(['/login', '/callback'], methodNotAllowed('GET, HEAD'));
  return router;
}

async function finish(
  { req, res }: { req: Request; res: Response },
  services: AccountServices,
  provider: IdentityProvider,
): Promise<void> {
  requireOffered(services);
  const session = services.sessions.find(req);
  // The cookie is valid once, for any outcome.
  services.sessions.end(res);
  if (session === undefined) {
    throw new AppError('forbidden', 403, 'the sign-in took too long, start again on your device');
  }
  const { search } = new URL(req.originalUrl, services.publicUrl);
  const callback = new URL(`${services.publicUrl}/enroll/account/callback${search}`);
  await finishSignIn(res, await provider.accountOf(callback, session), services);
}
