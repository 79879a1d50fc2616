import { AppError } from '../../errors.js';

export type OidcLibrary = typeof import('openid-client');

/** The provider answers, but with an error or something unreadable. */
const PROVIDER_ERRORS = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
]);

/** RFC 6749 4.1.2.1, and OpenID Connect's errors for a user who has to interact. */
const CANCELLED = new Set(['access_denied', 'login_required', 'interaction_required']);

export function providerUnavailable(cause: unknown): AppError {
  return new AppError(
    'unavailable',
    503,
    'the sign-in service of your organization cannot be reached, try again later',
    { cause },
  );
}

/** The person sees this message only; the cause is logged. */
export function invalidResponse(cause: unknown): AppError {
  return new AppError(
    'forbidden',
    403,
    'the answer of the sign-in service is not valid, start again on your device',
    { cause },
  );
}

/** The error of redeeming an authorization code. */
export function providerFailure(library: OidcLibrary, error: unknown): AppError {
  if (error instanceof library.AuthorizationResponseError) {
    if (!CANCELLED.has(error.error)) return invalidResponse(causeOf(error));
    return new AppError('forbidden', 403, 'the sign-in was cancelled', { cause: causeOf(error) });
  }
  if (error instanceof library.ResponseBodyError) {
    // Any other code than invalid_grant points to the configuration of this server.
    return error.error === 'invalid_grant'
      ? invalidResponse(causeOf(error))
      : providerUnavailable(causeOf(error));
  }
  if (error instanceof library.WWWAuthenticateChallengeError) {
    const text = `the provider does not know this server, it answered ${error.status}`;
    return providerUnavailable(new Error(text, { cause: error }));
  }
  if (error instanceof library.ClientError && !PROVIDER_ERRORS.has(error.code ?? '')) {
    return invalidResponse(error);
  }
  return providerUnavailable(error);
}

/** The provider's own error text, which the library's message lacks. */
function causeOf(error: { error: string; error_description?: string | undefined }): Error {
  const { error: code, error_description: description = '' } = error;
  return new Error(`${code} ${description}`.trim().slice(0, 300), { cause: error });
}
