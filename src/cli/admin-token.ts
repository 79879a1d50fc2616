import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { AppError } from '../errors.js';

/** Where the server writes the token of its first start. */
export function adminTokenFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'admin-token');
}

/** ADMIN_TOKEN, or the one that the server made on its first start. */
export async function readAdminToken(
  config: Pick<Config, 'adminToken' | 'dataDir'>,
): Promise<string> {
  if (config.adminToken !== undefined) return config.adminToken;
  const file = adminTokenFile(config);
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = isMissing ? 'does not exist' : `cannot be read (${(error as Error).message})`;
    throw new AppError(
      'unauthorized',
      401,
      `no token: ${file} ${why}. Set DATA_DIR or ADMIN_TOKEN as the server has them, or give --token`,
    );
  }
}
