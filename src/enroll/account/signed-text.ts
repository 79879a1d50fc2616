import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const MAX_CHARS = 2_000;

/**
 * Values that this server signs for a limited time and verifies when they are sent back. A text is
 * the JSON of expiry and value and its HMAC-SHA-256, both as base64url.
 */
export class SignedText<T> {
  readonly #key: Buffer;
  readonly #envelope: z.ZodType<[number, T]>;
  readonly #now: () => number;

  constructor(key: Buffer, schema: z.ZodType<T>, now: () => number = Date.now) {
    this.#key = key;
    this.#envelope = z.tuple([z.number(), schema]);
    this.#now = now;
  }

  sign(value: T, lifeMs: number): string {
    const body = Buffer.from(JSON.stringify([this.#now() + lifeMs, value])).toString('base64url');
    return `${body}.${this.#macOf(body)}`;
  }

  /** undefined if it is not ours, was altered, or has expired. */
  read(text: string): T | undefined {
    const [body = '', mac = '', ...rest] = text.length > MAX_CHARS ? [] : text.split('.');
    if (rest.length > 0 || !isSame(mac, this.#macOf(body))) return undefined;
    const signed: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
    // Another version of Muster may have signed another shape.
    const { data } = this.#envelope.safeParse(signed);
    return data !== undefined && data[0] > this.#now() ? data[1] : undefined;
  }

  #macOf(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url');
  }
}

/** Compares in constant time. */
export function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
