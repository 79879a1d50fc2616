import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';

export type { Logger } from 'pino';

/** Names whose values are never written, wherever they stand up to two objects deep. */
const SECRET_KEYS = [
  'authorization',
  'proxy_authorization',
  'cookie',
  'token',
  'tokens',
  'admin_token',
  'push_magic',
  'push_token',
  'unlock_token',
  'bootstrap_token',
  'challenge',
  'password',
  'passwd',
  'passcode',
  'pin',
  'secret',
  'master_key',
  'private_key',
  'recovery_key',
  'connection_string',
  'database_url',
];

/** `push_magic` also as `pushMagic`, `PushMagic` and `push-magic`: wire, headers and code differ. */
function spellings(key: string): string[] {
  const camel = key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const pascal = camel.charAt(0).toUpperCase() + camel.slice(1);
  return [...new Set([key, camel, pascal, key.replaceAll('_', '-'), key.toUpperCase()])];
}

const SECRET_NAMES = new Set(SECRET_KEYS.flatMap(spellings));
const DEEPEST = 2;

/** The object itself where it holds no secret, else a copy: the original belongs to the caller. */
function redacted(given: object, deeper: number): object {
  let copy: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const shown = shownValue(name, value, deeper);
    if (shown === value) continue;
    copy ??= (Array.isArray(given) ? [...given] : { ...given }) as Record<string, unknown>;
    copy[name] = shown;
  }
  return copy ?? given;
}

function shownValue(name: string, value: unknown, deeper: number): unknown {
  if (SECRET_NAMES.has(name)) return value === undefined ? value : '[redacted]';
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const plain = value instanceof Error ? pino.stdSerializers.err(value) : value;
  return deeper === 0 ? plain : redacted(plain, deeper - 1);
}

/** JSON lines on standard output (or `destination`), with secrets replaced by `[redacted]`. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    // pino's own redaction of so many names took 400 µs a line, this takes 3.
    formatters: { log: (fields) => redacted(fields, DEEPEST) as Record<string, unknown> },
    // Done by then, since secrets are looked for in what it makes of an error.
    serializers: { err: (error: unknown) => error },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** `kind` is what counts as the same, the message unless given. Returns whether it was at level warn. */
export type Warner = (fields: object, message: string, kind?: string) => boolean;

/** As long as an outage lasts, it is told of so often. */
const QUIET_MS = 30_000;

/** What was told a moment ago already is told again at the level debug: an outage is a few lines. */
export function createWarner(logger: Logger | undefined, quietMs = QUIET_MS): Warner {
  const toldAt = new Map<string, number>();
  return (fields, message, kind = message) => {
    const now = performance.now();
    for (const [told, at] of toldAt) if (now - at >= quietMs) toldAt.delete(told);
    const isRepeated = toldAt.has(kind);
    if (!isRepeated) toldAt.set(kind, now);
    logger?.[isRepeated ? 'debug' : 'warn'](fields, message);
    return !isRepeated;
  };
}
