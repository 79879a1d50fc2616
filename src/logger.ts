import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';

export type { Logger } from 'pino';

/** Names of secrets: their values are never logged, at the top level or up to two objects deep. */
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

const SECRET_NAMES = new Set(SECRET_KEYS.flatMap(spellings));
const DEEPEST = 2;

/** JSON lines on standard output (or `destination`), with secrets replaced by `[redacted]`. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    // pino's own redaction of so many names took 400 µs a line, this takes 3.
    formatters: { log: (fields) => redacted(fields, DEEPEST) as Record<string, unknown> },
    // `formatters.log` has serialized errors already, to redact secrets in them.
    serializers: { err: (error: unknown) => error },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Lines with the same `kind` (by default the message) are repetitions. Returns whether it warned. */
export type Warner = (fields: object, message: string, kind?: string) => boolean;

/** An outage is logged at most this often. */
const QUIET_MS = 30_000;

/** Logs repetitions within `quietMs` at the level debug, so that an outage is a few lines. */
export function createWarner(logger: Logger | undefined, quietMs = QUIET_MS): Warner {
  const warnedAt = new Map<string, number>();
  return (fields, message, kind = message) => {
    const now = performance.now();
    for (const [known, at] of warnedAt) if (now - at >= quietMs) warnedAt.delete(known);
    const isRepeated = warnedAt.has(kind);
    if (!isRepeated) warnedAt.set(kind, now);
    logger?.[isRepeated ? 'debug' : 'warn'](fields, message);
    return !isRepeated;
  };
}

/** `push_magic` also as `pushMagic`, `PushMagic` and `push-magic`, as in code, plists and headers. */
function spellings(key: string): string[] {
  const camel = key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const pascal = camel.charAt(0).toUpperCase() + camel.slice(1);
  return [...new Set([key, camel, pascal, key.replaceAll('_', '-'), key.toUpperCase()])];
}

/** The object itself if it contains no secret, else a copy, since the original is the caller's. */
function redacted(fields: object, deeper: number): object {
  let copy: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    const shown = shownValue(name, value, deeper);
    if (shown === value) continue;
    copy ??= (Array.isArray(fields) ? [...fields] : { ...fields }) as Record<string, unknown>;
    copy[name] = shown;
  }
  return copy ?? fields;
}

function shownValue(name: string, value: unknown, deeper: number): unknown {
  if (SECRET_NAMES.has(name)) return value === undefined ? value : '[redacted]';
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const plain = value instanceof Error ? pino.stdSerializers.err(value) : value;
  return deeper === 0 ? plain : redacted(plain, deeper - 1);
}
