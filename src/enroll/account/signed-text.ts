import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const MAX_CHARS = 2_000;

/** Values that this server signs for a limited time and verifies when they are sent back. */
export interface SignedText<T> {
  sign(value: T, lifeMs: number): string;
  /** undefined if it is not ours, was altered, or has expired. */
  read(text: string): T | undefined;
}

/** Compares in constant time. */
export function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** HMAC-SHA-256 over the JSON of expiry and value; the JSON and the MAC as base64url. */
export function createSignedText<T>(
  key: Buffer,
  schema: z.ZodType<T>,
  now: () => number = Date.now,
): SignedText<T> {
  const envelope = z.tuple([z.number(), schema]);
  const macOf = (body: string) => createHmac('sha256', key).update(body).digest('base64url');
  return {
    sign(value, lifeMs) {
      const body = Buffer.from(JSON.stringify([now() + lifeMs, value])).toString('base64url');
      return `${body}.${macOf(body)}`;
    },
    read(text) {
      const [body = '', mac = '', ...rest] = text.length > MAX_CHARS ? [] : text.split('.');
      if (rest.length > 0 || !isSame(mac, macOf(body))) return undefined;
      const signed: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
      // Another version of Muster may have signed another shape.
      const { data } = envelope.safeParse(signed);
      return data !== undefined && data[0] > now() ? data[1] : undefined;
    },
  };
}
