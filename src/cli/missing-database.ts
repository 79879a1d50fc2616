import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { hasCluster } from '../embedded-postgres/cluster-home.js';
import { unavailable } from '../errors.js';

/** Why there is no embedded database where the settings say. */
export type Missing = { kind: 'unreadable'; code: string } | { kind: 'none' };

/** undefined: there is one, or DATABASE_URL names another. */
export function missingDatabase({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): Missing | undefined {
  if (databaseUrl !== undefined) return undefined;
  const code = refusalOf(dataDir) ?? refusalOf(join(dataDir, 'postgres'));
  if (code !== undefined) return { kind: 'unreadable', code };
  return hasCluster(dataDir) ? undefined : { kind: 'none' };
}

/** The code with which the account of this process is kept out; undefined: it may enter, or there is nothing. */
function refusalOf(dataDir: string): string | undefined {
  try {
    accessSync(dataDir, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (fault) {
    const { code = '' } = fault as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : code;
  }
}

/** One sentence each. `command`: what was called, after `muster`. */
export function missingText(
  missing: Missing,
  { dataDir, command }: { dataDir: string; command: string },
): { what: string; cure: string } {
  if (missing.kind === 'unreadable') {
    const what = `DATA_DIR (${dataDir}) cannot be read by this account (${missing.code}).`;
    const cure = `Run muster ${command} as the account of the server: sudo -u ACCOUNT muster ${command}`;
    return { what, cure };
  }
  const what = `There is no database in DATA_DIR (${dataDir}), and DATABASE_URL is not set.`;
  const cure = `Run muster ${command} with the settings of the server: in its directory, where its .env is. Or start it: muster serve`;
  return { what, cure };
}

/** Throws AppError where a command that only reads would make an empty database. */
export function requireDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  command: string,
): void {
  const missing = missingDatabase(config);
  if (missing === undefined) return;
  const { what, cure } = missingText(missing, { dataDir: config.dataDir, command });
  throw unavailable(`${what} ${cure}`);
}
