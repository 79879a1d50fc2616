import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { z } from 'zod';

// The types of values of environment variables, with their error messages.

export function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/.test(hostname);
}

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const port = z
  .string()
  .refine(
    (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65535,
    'must be a number from 0 to 65535',
  )
  .transform(Number);
export const deviceCount = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a number of devices')
  .transform(Number);
export const cachedIdentities = z
  .string()
  .regex(/^[1-9]\d{3,6}$/, 'must be a number from 1000 to 9999999')
  .transform(Number);
export const workers = z
  .string()
  .regex(/^(auto|[1-9]|[1-5]\d|6[0-4])$/, 'must be a number from 1 to 64, or auto')
  .transform((text) => (text === 'auto' ? Math.min(64, availableParallelism()) : Number(text)));
export const countPerMinute = z
  .string()
  .regex(/^[1-9]\d{0,5}$/, 'must be a number from 1 to 999999')
  .transform(Number);
export const url = z
  .string()
  .refine(isPublicUrl, 'must be an http or https URL without user and query');
export const masterKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes in base64 (openssl rand -base64 32)')
  .transform((text) => Buffer.from(text, 'base64'));
export const networks = z
  .string()
  .transform(splitList)
  .refine(
    (list) => list.every(isNetwork),
    'must be IP addresses or networks (10.0.0.0/8), with commas',
  );

export const serviceHost = z
  .string()
  .refine(isServiceHost, 'must be like https://host:port (http only to this machine)')
  .transform((text) => new URL(text).origin);

export const serviceUrl = z
  .string()
  .refine(isServiceUrl, 'must be an https URL without user and query (http only to this machine)');

export const setupTimeout = z
  .string()
  .default('15m')
  .refine((text) => durationOf(text) !== undefined, 'must be a time like 15m or 2h')
  .transform((text) => durationOf(text) ?? 0);

interface Span {
  standard: string;
  /** The shortest, like `10m`. */
  least: string;
  /** Examples for the message. */
  like: string;
  off?: readonly string[];
}

/** Milliseconds; undefined for `off`. */
function timeOrOff({ standard, least, like, off = ['off'] }: Span) {
  const shortest = durationOf(least) ?? 0;
  return z
    .string()
    .default(standard)
    .refine(
      (text) => off.includes(text) || (durationOf(text) ?? 0) >= shortest,
      `must be off, or a time from ${least} to 9999d, like ${like}`,
    )
    .transform(durationOf);
}

export const interval = timeOrOff({ standard: '1d', least: '10m', like: '12h or 7d' });

/** Minutes are allowed: Apple's service limits calls per minute. */
export const syncInterval = timeOrOff({ standard: '15m', least: '1m', like: '15m or 2h' });

/** Short ones are for trials. */
export const backupInterval = timeOrOff({ standard: 'off', least: '1m', like: '6h or 1d' });

export const backupCount = z
  .string()
  .regex(/^[1-9]\d{0,3}$/, 'must be a number from 1 to 9999')
  .transform(Number);

export const SHORTEST_PASSPHRASE = 12;
export const passphrase = z
  .string()
  .min(SHORTEST_PASSPHRASE, `must have ${SHORTEST_PASSPHRASE} characters or more`);

/** How long something may last before it is reported. */
export function limit(standard: string) {
  return timeOrOff({ standard, least: '1s', like: '12h or 7d' });
}

/** How long something is kept; `off` and `0`: for good. Never so short that it is gone before somebody has seen it. */
export function retention(standard: string, least = '1d') {
  return timeOrOff({ standard, least, like: '90d or 365d', off: ['off', '0'] });
}

/** The table itself refuses to lose events of the last 30 days. */
export const auditRetention = retention('off', '30d');

/** How long a session may last: never for good. */
export function sessionTime(standard: string) {
  return z
    .string()
    .default(standard)
    .refine(
      (text) => isWithin(durationOf(text), [5 * 60_000, 90 * 86_400_000]),
      'must be a time from 5 minutes to 90 days, like 30m, 8h or 7d',
    )
    .transform((text) => durationOf(text) ?? 0);
}

export const grace = timeOrOff({ standard: '90d', least: '1s', like: '12h or 90d' }).transform(
  (ms) => ms ?? 0,
);

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header, like Client-Cert')
  .transform((text) => text.toLowerCase());

export function oneOf<const T extends string>(values: readonly T[], standard: T) {
  return z.enum(values, `must be one of ${values.join(', ')}`).default(standard);
}

export const onOff = z.enum(['on', 'off'], 'must be on or off');

export const origins = z
  .string()
  .transform(splitList)
  .refine(
    (list) => list.every(isOrigin),
    'must be origins as browsers write them (https://console.example.com), with commas',
  );

export const databaseUrl = z
  .string()
  .refine(isDatabaseUrl, 'must be a postgresql:// URL')
  .refine(
    isPoolerKnown,
    'pgbouncer must be true, or be left out where no pooler is before PostgreSQL',
  );

function isPublicUrl(text: string): boolean {
  const url = parseUrl(text);
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return false;
  return url.username === '' && url.password === '' && !/[?#]/.test(text);
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function isNetwork(text: string): boolean {
  const [address = '', length, ...rest] = text.split('/');
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits < 0 || rest.length > 0) return false;
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits);
}

/** Origin only, a default port or not; without TLS only to this machine. */
function isServiceHost(text: string): boolean {
  const url = parseUrl(text);
  const bare = text.replace(/\/$/, '').replace(/:(443|80)$/, '');
  if (url === undefined || url.origin.replace(/:(443|80)$/, '') !== bare) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** With a path; without TLS only to this machine. */
function isServiceUrl(text: string): boolean {
  const url = parseUrl(text);
  if (url === undefined || !isPublicUrl(text)) return false;
  return url.protocol === 'https:' || isLoopback(url.hostname);
}

/** `30m`, `24h`, `7d`; undefined for off. */
function durationOf(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN) || undefined;
}

function isWithin(value: number | undefined, [low, high]: [number, number]): boolean {
  return value !== undefined && value >= low && value <= high;
}

/** Exactly as a browser sends it: scheme, host and port only, without a default port. */
function isOrigin(text: string): boolean {
  const url = parseUrl(text);
  return url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.origin === text;
}

function isPoolerKnown(text: string): boolean {
  const values = parseUrl(text)?.searchParams.getAll('pgbouncer') ?? [];
  return values.length === 0 || (values.length === 1 && values[0] === 'true');
}

function isDatabaseUrl(text: string): boolean {
  return ['postgres:', 'postgresql:'].includes(parseUrl(text)?.protocol ?? '');
}
