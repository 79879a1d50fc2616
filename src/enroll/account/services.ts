import type { EnrollServices } from '../services.js';
import type { AccessTokens } from './access-token.js';
import type { IdentityProvider } from './identity-provider.js';
import type { SignInLimits } from './sign-in-limits.js';
import type { SignInSessions } from './sign-in-session.js';

/** Services of account-driven enrollment. */
export interface AccountServices extends EnrollServices {
  tokens: AccessTokens;
  sessions: SignInSessions;
  limits: SignInLimits;
  /** undefined: people sign in with passwords that this server stores. */
  provider: IdentityProvider | undefined;
}
