import { timingSafeEqual } from 'node:crypto';
import { DepRefusal } from './dep-refusal.js';
import { readOAuthHeader, signature } from './oauth-request.js';
import type { Organization } from './organization.js';
import type { ServerTokens } from './server-tokens.js';

export interface SessionRequest {
  method: string;
  /** With the host that the client used. */
  url: URL;
  authorization: string | undefined;
}

/** The server that a token belongs to. */
export interface TokenOwner {
  server: string;
  /** Time of issue of the token, milliseconds since 1970. */
  issuedAt: number;
}

const TEN_MINUTES_S = 600;

const REQUIRED = ['consumer_key', 'token', 'signature_method', 'signature', 'timestamp', 'nonce'];

/** Verifies the OAuth signature of a request for a session (RFC 5849, 3.2). */
export class OAuthCheck {
  readonly #nonces = new UsedNonces(TEN_MINUTES_S);

  constructor(
    private readonly tokens: ServerTokens,
    private readonly organization: Organization,
  ) {}

  /** @throws DepRefusal 400 or 401 */
  check(request: SessionRequest): TokenOwner {
    const parameters = readOAuthHeader(request.authorization);
    checkForm(parameters);
    const name = this.tokens.serverOf(parameters.get('oauth_consumer_key') ?? '');
    if (name === undefined) throw unauthorized('consumer_key_unknown');
    const issuedAt = this.#checkToken(name, parameters.get('oauth_token') ?? '');
    this.#checkSignature(name, parameters, request);
    this.#checkFreshness(name, parameters);
    return { server: name, issuedAt };
  }

  #checkToken(name: string, text: string): number {
    const token = this.tokens.read(name, text);
    // A newer token for the server ends the former one.
    if (token === undefined || token.issuedAt < this.organization.server(name).tokenIssuedAt) {
      throw unauthorized('token_rejected');
    }
    if (token.expiresAt <= Date.now()) throw unauthorized('token_expired');
    return token.issuedAt;
  }

  #checkSignature(
    name: string,
    all: ReadonlyMap<string, string>,
    { method, url }: SessionRequest,
  ): void {
    const { oauth_signature: given = '', ...rest } = Object.fromEntries(all);
    const secrets = this.tokens.secretsOf(name, rest.oauth_token ?? '');
    const expected = signature({ method, url, parameters: Object.entries(rest) }, secrets);
    const decoded = Buffer.from(given, 'base64');
    const isRight = decoded.length === expected.length && timingSafeEqual(decoded, expected);
    if (!isRight) throw unauthorized('signature_invalid');
  }

  #checkFreshness(name: string, parameters: ReadonlyMap<string, string>): void {
    const timestamp = Number(parameters.get('oauth_timestamp'));
    const isNear = Math.abs(Date.now() / 1000 - timestamp) <= TEN_MINUTES_S;
    if (!isNear) throw unauthorized('timestamp_refused');
    const nonce = `${name}/${timestamp}/${parameters.get('oauth_nonce')}`;
    if (!this.#nonces.use(nonce, timestamp)) throw unauthorized('nonce_used');
  }
}

/** Remembers used nonces as long as their timestamps are accepted. */
class UsedNonces {
  readonly #expiry = new Map<string, number>();
  #sweepAt = 1_000;

  constructor(private readonly lifeSeconds: number) {}

  /** Returns false if the nonce was used before. */
  use(nonce: string, timestamp: number): boolean {
    if (this.#expiry.has(nonce)) return false;
    this.#expiry.set(nonce, timestamp + this.lifeSeconds);
    if (this.#expiry.size >= this.#sweepAt) this.#sweep();
    return true;
  }

  #sweep(): void {
    const now = Date.now() / 1000;
    for (const [nonce, expiry] of this.#expiry) {
      if (expiry < now) this.#expiry.delete(nonce);
    }
    this.#sweepAt = this.#expiry.size * 2 + 1_000;
  }
}

/** RFC 5849, 3.2: required parameters and their values. */
function checkForm(parameters: ReadonlyMap<string, string>): void {
  for (const name of REQUIRED) {
    if (!parameters.get(`oauth_${name}`)) throw badRequest('parameter_absent');
  }
  if (parameters.get('oauth_signature_method') !== 'HMAC-SHA1') {
    throw badRequest('signature_method_rejected');
  }
  if ((parameters.get('oauth_version') ?? '1.0') !== '1.0') throw badRequest('version_rejected');
}

function unauthorized(code: string): DepRefusal {
  return new DepRefusal(401, code);
}

function badRequest(code: string): DepRefusal {
  return new DepRefusal(400, code);
}
