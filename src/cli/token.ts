import type { Command } from 'commander';
import { allTokens, createToken, revokeToken } from '../auth/api-tokens.js';
import type { TokenRow } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import type { Role } from '../jsonapi/context.js';
import { cliContext } from './audit-cli.js';
import { parseExpiry } from './options.js';
import { dateText, type WriteLine, writeTable } from './table.js';

export interface TokenCreateArgs {
  name: string;
  role: string;
  /** `90m`, `12h`, `30d`, or a date as ISO 8601; never when left out. */
  expires?: string | undefined;
}

/** Prints the token alone on the first line, for scripts. */
export async function tokenCreate(
  db: Database,
  args: TokenCreateArgs,
  write: WriteLine,
): Promise<void> {
  const expiresAt = args.expires === undefined ? null : parseExpiry(args.expires);
  const input = { name: args.name, role: args.role as Role, expiresAt };
  const { token, row } = await createToken(db, input, cliContext());
  write(token);
  write(`id ${row.id}, role ${row.role}, expires ${dateText(row.expires_at)}; not shown again`);
}

function stateOf(row: TokenRow): string {
  if (row.revoked_at !== null) return 'revoked';
  return row.expires_at !== null && row.expires_at.getTime() <= Date.now() ? 'expired' : 'valid';
}

const HEADINGS = ['ID', 'NAME', 'ROLE', 'STATE', 'CREATED', 'EXPIRES', 'LAST USED'];

function cells(row: TokenRow): string[] {
  const dates = [row.created_at, row.expires_at, row.last_used_at].map(dateText);
  return [String(row.id), row.name, row.role, stateOf(row), ...dates];
}

export async function tokenList(db: Database, _args: object, write: WriteLine): Promise<void> {
  writeTable([HEADINGS, ...(await allTokens(db)).map(cells)], write);
}

/** `token` is an id, or a name: then every token of that name is revoked. */
export async function tokenRevoke(
  db: Database,
  args: { token: string },
  write: WriteLine,
): Promise<void> {
  const isId = /^\d{1,15}$/.test(args.token);
  const selector = isId ? { id: Number(args.token) } : { name: args.token };
  const rows = await revokeToken(db, selector, cliContext());
  for (const row of rows) write(`revoked ${row.id} ${row.name}`);
}

export interface TokenIo {
  /** Migrates the schema first. */
  withDatabase(work: (db: Database) => Promise<void>): Promise<void>;
  write: WriteLine;
}

export function addTokenCommands(program: Command, { withDatabase, write }: TokenIo): void {
  const token = program.command('token').description('tokens of the admin API');
  token
    .command('create')
    .description('make a token and print it, this once')
    .requiredOption('--name <name>', 'whose it is')
    .requiredOption('--role <role>', 'viewer, operator or admin')
    .option('--expires <when>', 'like 12h or 30d, or a date; never when left out')
    .action((args) => withDatabase((db) => tokenCreate(db, args, write)));
  token
    .command('list')
    .description('show all tokens, without their values')
    .action((args) => withDatabase((db) => tokenList(db, args, write)));
  token
    .command('revoke')
    .argument('<id or name>')
    .description('revoke a token')
    .action((token: string) => withDatabase((db) => tokenRevoke(db, { token }, write)));
}
