import pino, { type DestinationStream, type Logger } from 'pino';

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

const PREFIXES = ['', '*.', '*.*.'];
const REDACTED_PATHS = SECRET_KEYS.flatMap(spellings).flatMap((key) =>
  PREFIXES.map((prefix) => (key.includes('-') ? `${prefix.slice(0, -1)}["${key}"]` : prefix + key)),
);

/** JSON lines on standard output (or `destination`), with secrets replaced by `[redacted]`. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
