/** The OpenID Connect provider of the organization. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The claim that holds the Managed Apple Account. */
  readonly accountClaim: string;
}

interface OidcVariables {
  OIDC_ISSUER?: string | undefined;
  OIDC_CLIENT_ID?: string | undefined;
  OIDC_CLIENT_SECRET?: string | undefined;
  OIDC_ACCOUNT_CLAIM: string;
}

/** Undefined unless all of it is set. */
export function oidcOf(env: OidcVariables): OidcConfig | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined)
    return undefined;
  return Object.freeze({ issuer, clientId, clientSecret, accountClaim: env.OIDC_ACCOUNT_CLAIM });
}
