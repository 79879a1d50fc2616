import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { EnrollmentMode } from './admission.js';
import { SignedText } from './signed-text.js';

/** From the sign-in to the device's second request, which waits for a person. */
const LIFE_MS = 10 * 60_000;
const NONCE_BYTES = 16;

/** The bearer token of a device whose user has signed in. */
export interface AccessToken {
  account: string;
  mode: EnrollmentMode;
  /** 16 bytes; good for one enrollment. */
  nonce: Buffer;
}

const STORED = z.tuple([z.string(), z.enum(['byod', 'adde']), z.string()]);

export class AccessTokens {
  readonly #texts: SignedText<z.infer<typeof STORED>>;

  constructor(box: SecretBox, now?: () => number) {
    this.#texts = new SignedText(box.deriveKey('enrollment-account-token'), STORED, now);
  }

  issue({ account, mode }: Omit<AccessToken, 'nonce'>): string {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    return this.#texts.sign([account, mode, nonce], LIFE_MS);
  }

  /** undefined if it is not ours, was altered, or has expired. */
  read(text: string): AccessToken | undefined {
    const stored = this.#texts.read(text);
    if (stored === undefined) return undefined;
    const [account, mode, nonce] = stored;
    return { account, mode, nonce: Buffer.from(nonce, 'base64url') };
  }
}

/** The token of an Authorization header; undefined for another scheme, or none. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +([\w.~+/=-]+) *$/i.exec(header ?? '')?.[1];
}
