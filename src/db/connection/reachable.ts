import { AppError } from '../../errors.js';
import type { Database } from './database.js';

function placeOf(connectionString: string): string {
  const { hostname, port, pathname } = new URL(connectionString);
  return `${hostname}:${port || 5432}${pathname}`;
}

/** The error of a name with several addresses has no message of its own. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'no reason given';
}

/** Throws AppError `unavailable` that names the database, without user and password. */
export async function requireReachable(db: Database, connectionString: string): Promise<void> {
  try {
    await db.pool.query('select 1');
  } catch (cause) {
    const message = `The database ${placeOf(connectionString)} cannot be reached (DATABASE_URL): `;
    throw new AppError('unavailable', 503, message + reasonOf(cause), { cause });
  }
}
