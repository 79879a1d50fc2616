import { createHmac, randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import { z } from 'zod';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { SignedText } from './signed-text.js';

/** From the first page to the end of the sign-in. */
const LIFE_MS = 15 * 60_000;
const NONCE_BYTES = 24;
const COOKIE = 'muster_sign_in';
const MAX_COOKIES_CHARS = 16_384;

/** Secrets of one sign-in, all derived from the browser's cookie. */
export interface SignInSession {
  /** In the form. */
  csrf: string;
  /** For OpenID Connect: state, nonce and PKCE. */
  state: string;
  nonce: string;
  codeVerifier: string;
}

/** Sign-ins are kept in a signed cookie, since the next request may reach another process. */
export class SignInSessions {
  readonly #cookies: SignedText<string>;
  readonly #key: Buffer;
  readonly #attributes: string;

  constructor({ box, publicUrl }: { box: SecretBox; publicUrl: string }) {
    const { protocol, pathname } = new URL(`${publicUrl}/enroll/account`);
    const secure = protocol === 'https:' ? '; Secure' : '';
    // Lax, since an identity provider sends the browser back from another site.
    this.#attributes = `Path=${pathname}; HttpOnly; SameSite=Lax${secure}`;
    this.#cookies = new SignedText(box.deriveKey('enrollment-sign-in-cookie'), z.string());
    this.#key = box.deriveKey('enrollment-sign-in-secrets');
  }

  begin(res: Response): SignInSession {
    const seed = randomBytes(NONCE_BYTES).toString('base64url');
    const value = `${COOKIE}=${this.#cookies.sign(seed, LIFE_MS)}`;
    res.setHeader('Set-Cookie', `${value}; Max-Age=${LIFE_MS / 1000}; ${this.#attributes}`);
    return this.#sessionOf(seed);
  }

  find(req: Request): SignInSession | undefined {
    const text = cookieOf(req);
    const seed = text === undefined ? undefined : this.#cookies.read(text);
    return seed === undefined ? undefined : this.#sessionOf(seed);
  }

  end(res: Response): void {
    res.setHeader('Set-Cookie', `${COOKIE}=; Max-Age=0; ${this.#attributes}`);
  }

  #sessionOf(seed: string): SignInSession {
    const secret = (use: string) =>
      createHmac('sha256', this.#key).update(`${use}\0${seed}`).digest('base64url');
    const [csrf, state] = [secret('csrf'), secret('state')];
    return { csrf, state, nonce: secret('nonce'), codeVerifier: secret('code verifier') };
  }
}

function cookieOf(req: Request): string | undefined {
  const header = (req.get('cookie') ?? '').slice(0, MAX_COOKIES_CHARS);
  const pair = header.split(';').find((each) => each.trim().startsWith(`${COOKIE}=`));
  return pair?.trim().slice(COOKIE.length + 1);
}
