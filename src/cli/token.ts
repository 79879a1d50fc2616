import { randomUUID } from 'node:crypto';
import { allTokens, createToken, revokeToken } from '../auth/api-tokens.js';
import type { TokenRow } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { AppError } from '../errors.js';
import type { RequestContext, Role } from '../jsonapi/context.js';
import { writeTable } from './write-table.js';

export type WriteLine = (line: string) => void;

export interface TokenCreateArgs {
  name: string;
  role: string;
  /** `90m`, `12h`, `30d`, or a date as ISO 8601; never when left out. */
  expires?: string | undefined;
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Who changes something by the command line. */
export function cliContext(): RequestContext {
  return {
    requestId: randomUUID(),
    actor: { name: 'cli', role: 'admin' },
    sourceAddress: null,
  };
}

/** AppError 422 for what is neither a span nor a date. */
export function parseExpiry(text: string): Date {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) {
    return new Date(Date.now() + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  }
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(date.getTime())) {
    throw new AppError('validation_failed', 422, `${text} is neither like 30d nor a date`);
  }
  return date;
}

/** The first line is the token alone, so that scripts can take it. */
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

export function dateText(date: Date | null): string {
  return date === null ? 'never' : date.toISOString().slice(0, 19).concat('+00:00');
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

/** `token` is an id, or a name: then every token of that name goes. */
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
