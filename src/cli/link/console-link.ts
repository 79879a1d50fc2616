import { createSignInLink, LINK_MINUTES } from '../../auth/sign-in-links.js';
import type { Database } from '../../db/connection/database.js';
import { cliContext } from '../audit-cli.js';
import { dateText, type WriteLine } from '../table.js';

export interface LinkConsoleArgs {
  /** An id or a name. */
  token?: string;
}

interface OpenedForLinks {
  db: Database;
  publicUrl: string;
  adminToken?: string | undefined;
}

/** Prints the address alone on the first line, for scripts. */
export async function linkConsole(
  { db, publicUrl, adminToken }: OpenedForLinks,
  { token: idOrName }: LinkConsoleArgs,
  write: WriteLine,
): Promise<void> {
  const selector = idOrName === undefined ? undefined : selectorOf(idOrName);
  const deps = { db, publicUrl, adminToken };
  const { url, token, expiresAt } = await createSignInLink(deps, cliContext(), selector);
  write(url);
  const until = `within ${LINK_MINUTES} minutes (until ${dateText(expiresAt)})`;
  write(`signs one browser in as ${token.name}, role ${token.role}, once and ${until}`);
}

/** As `muster token revoke` reads it. */
function selectorOf(idOrName: string): { id: number } | { name: string } {
  return /^\d{1,15}$/.test(idOrName) ? { id: Number(idOrName) } : { name: idOrName };
}
