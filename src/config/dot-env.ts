import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError } from './config-error.js';

/** An empty value is the same as none: `FOO=` in a file or a compose template unsets. */
export function withoutEmpty(env: Record<string, string | undefined>): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) => {
    const text = value?.trim() ?? '';
    return text === '' ? [] : [[name, text] as const];
  });
  return Object.fromEntries(entries);
}

/** The variables of both: those of the environment count, an empty one unsets what `.env` sets. */
export function combined(
  dotEnv: Record<string, string>,
  environment: Record<string, string | undefined>,
): Record<string, string> {
  const known = Object.entries(dotEnv).filter(([name]) => environment[name] === undefined);
  return { ...Object.fromEntries(known), ...withoutEmpty(environment) };
}

/** The variables of `.env` there; none without the file. ConfigError if it cannot be read. */
export function readDotEnv(cwd: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(join(cwd, '.env'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new ConfigError([`.env: cannot be read (${(error as Error).message})`]);
  }
}
