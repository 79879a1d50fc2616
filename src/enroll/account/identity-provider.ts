import type { Configuration } from 'openid-client';
import type { OidcConfig } from '../../config/oidc.js';
import { AppError } from '../../errors.js';
import { requireAccountName } from './admission.js';
import {
  invalidResponse,
  type OidcLibrary,
  providerFailure,
  providerUnavailable,
} from './provider-failures.js';
import type { SignInSession } from './sign-in-session.js';

/** A person waits at the device. */
const TIMEOUT_SECONDS = 10;
/** How long a provider's metadata is cached. */
const METADATA_LIFE_MS = 60 * 60_000;

type Claims = Record<string, unknown>;

export type SignInSecrets = Pick<SignInSession, 'state' | 'nonce' | 'codeVerifier'>;

export interface IdentityProviderDeps {
  oidc: OidcConfig;
  /** Registered with the provider. */
  redirectUri: string;
}

/**
 * The OpenID Connect provider that signs people in. Its metadata is fetched at the first sign-in, and
 * again after an hour.
 */
export class IdentityProvider {
  readonly #oidc: OidcConfig;
  readonly #redirectUri: string;
  #known: { configuration: Promise<Configuration>; until: number } | undefined;

  constructor({ oidc, redirectUri }: IdentityProviderDeps) {
    this.#oidc = oidc;
    this.#redirectUri = redirectUri;
  }

  /** Where the browser is redirected. AppError unavailable 503 while the provider is unreachable. */
  async authorizationUrl(
    { state, nonce, codeVerifier }: SignInSecrets,
    hint: string | undefined,
  ): Promise<URL> {
    const library = await import('openid-client');
    const parameters: Record<string, string> = {
      redirect_uri: this.#redirectUri,
      scope: 'openid email profile',
      state,
      nonce,
      code_challenge: await library.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    };
    if (hint !== undefined) parameters.login_hint = hint;
    return library.buildAuthorizationUrl(await this.#configure(library), parameters);
  }

  /**
   * The account of a callback. AppError forbidden 403 for an invalid one; unavailable 503 while the
   * provider is unreachable.
   */
  async accountOf(callback: URL, secrets: SignInSecrets): Promise<string> {
    const library = await import('openid-client');
    const configuration = await this.#configure(library);
    try {
      const claims = await redeem({ library, configuration, callback }, secrets, this.#oidc);
      return accountIn(claims, this.#oidc);
    } catch (error) {
      throw error instanceof AppError ? error : providerFailure(library, error);
    }
  }

  #configure(library: OidcLibrary): Promise<Configuration> {
    if (this.#known !== undefined && this.#known.until > Date.now()) {
      return this.#known.configuration;
    }
    const configuration = discover(library, this.#oidc);
    this.#known = { configuration, until: Date.now() + METADATA_LIFE_MS };
    configuration.catch(() => {
      this.#known = undefined;
    });
    return configuration;
  }
}

async function discover(library: OidcLibrary, oidc: OidcConfig): Promise<Configuration> {
  const issuer = new URL(oidc.issuer);
  // The configuration allows http for loopback only.
  const insecure = issuer.protocol === 'http:' ? [library.allowInsecureRequests] : [];
  const options = { timeout: TIMEOUT_SECONDS, execute: insecure };
  try {
    const found = await library.discovery(issuer, oidc.clientId, undefined, undefined, options);
    const metadata = found.serverMetadata();
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic')
      ? library.ClientSecretBasic(oidc.clientSecret)
      : library.ClientSecretPost(oidc.clientSecret);
    const configuration = new library.Configuration(
      metadata,
      oidc.clientId,
      oidc.clientSecret,
      authenticate,
    );
    configuration.timeout = TIMEOUT_SECONDS;
    for (const extend of [...insecure, library.enableNonRepudiationChecks]) extend(configuration);
    return configuration;
  } catch (error) {
    throw providerUnavailable(error);
  }
}

interface Answer {
  library: OidcLibrary;
  configuration: Configuration;
  callback: URL;
}

/** The claims of the ID token, with those of the user info endpoint if it lacks the account. */
async function redeem(
  { library, configuration, callback }: Answer,
  { state, nonce, codeVerifier }: SignInSecrets,
  { accountClaim }: OidcConfig,
): Promise<Claims> {
  const tokens = await library.authorizationCodeGrant(configuration, callback, {
    pkceCodeVerifier: codeVerifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined) throw invalidResponse(new Error('it has no ID token'));
  if (claims[accountClaim] !== undefined) return claims;
  const { access_token: accessToken } = tokens;
  return { ...claims, ...(await library.fetchUserInfo(configuration, accessToken, claims.sub)) };
}

/** Some providers omit `email_verified`, and some send it as a string. */
function accountIn(claims: Claims, { accountClaim }: OidcConfig): string {
  const account = claims[accountClaim];
  if (account === undefined) throw invalidResponse(new Error(`it has no claim ${accountClaim}`));
  if (accountClaim === 'email' && String(claims.email_verified ?? 'true') !== 'true') {
    throw new AppError('forbidden', 403, 'the e-mail address of your account is not verified');
  }
  return requireAccountName(account);
}
