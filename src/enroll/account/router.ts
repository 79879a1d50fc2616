import { Router } from 'express';
import { deviceErrorHandler } from '../../http/errors/device-errors.js';
import { methodNotAllowed } from '../method-not-allowed.js';
import type { EnrollServices } from '../services.js';
import { AccessTokens } from './access-token.js';
import { enrollAccount } from './enroll-route.js';
import { IdentityProvider } from './identity-provider.js';
import { createPasswordRoutes } from './password-routes.js';
import { createProviderRoutes } from './provider-routes.js';
import type { AccountServices } from './services.js';
import { SignInLimits } from './sign-in-limits.js';
import { pageHeaders, problemPage } from './sign-in-pages.js';
import { SignInSessions } from './sign-in-session.js';

/** Routes under /enroll/account: enrollment of devices, and the sign-in of their users. */
export function createAccountRouter(services: EnrollServices): Router {
  const shared = accountServices(services);
  const router = Router();
  router.post('/', (req, res) => enrollAccount(req, res, shared));
  router.all('/', methodNotAllowed('POST'));
  const { provider } = shared;
  const pages = Router();
  pages.use(pageHeaders);
  pages.use(
    provider === undefined ? createPasswordRoutes(shared) : createProviderRoutes(shared, provider),
  );
  pages.use(deviceErrorHandler(services.logger, { asPage: problemPage }));
  router.use(pages);
  return router;
}

function accountServices(services: EnrollServices): AccountServices {
  const { box, publicUrl, config } = services;
  const redirectUri = `${publicUrl}/enroll/account/callback`;
  const { oidc } = config;
  return {
    ...services,
    tokens: new AccessTokens(box),
    sessions: new SignInSessions({ box, publicUrl }),
    limits: new SignInLimits({ sharing: services.failureSharing }),
    provider: oidc === undefined ? undefined : new IdentityProvider({ oidc, redirectUri }),
  };
}
