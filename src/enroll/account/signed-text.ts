import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const MAX_CHARS = 2_000;

/** Values that this server gave out, for a while, to whoever brings them back. */
export interface SignedText<T> {
  sign(value: T, lifeMs: number): string;
  /** undefined when it is not ours, was altered, or its time is over. */
  read(text: string): T | undefined;
}

/** Takes as long for a wrong text as for the right one. */
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
      // Another version of this program may have signed something else.
      const { data } = envelope.safeParse(signed);
      return data !== undefined && data[0] > now() ? data[1] : undefined;
    },
  };
}
