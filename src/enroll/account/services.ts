import type { EnrollServices } from '../services.js';
import type { AccessTokens } from './access-token.js';
import type { IdentityProvider } from './identity-provider.js';
import type { SignInLimits } from './sign-in-limits.js';
import type { SignInSessions } from './sign-in-session.js';

/** What the routes of account-driven enrollment share. */
export interface AccountServices extends EnrollServices {
  tokens: AccessTokens;
  sessions: SignInSessions;
  limits: SignInLimits;
  /** Who signs people in; undefined: this server, by their passwords. */
  provider: IdentityProvider | undefined;
}
