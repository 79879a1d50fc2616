import { timingSafeEqual } from 'node:crypto';
import {
  insertToken,
  listTokens,
  revokeTokens,
  type TokenRow,
  type TokenSelector,
} from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import { type ErrorDetail, notFound, validationError } from '../errors.js';
import { createdWith, writeAudit } from '../events/audit.js';
import { type Actor, type RequestContext, ROLES, type Role } from '../jsonapi/context.js';
import type { Logger } from '../logger.js';
import { createLastUse } from './last-use.js';
import { hashToken, newToken } from './token-format.js';
import { TokenLookup } from './token-lookup.js';

export interface TokenInput {
  name: string;
  role: Role;
  expiresAt?: Date | null;
}

export interface CreatedToken {
  /** Shown this once; only its hash is kept. */
  token: string;
  row: TokenRow;
}

export interface TokenVerifier {
  /** Whose token this is; null when unknown, expired or revoked. AppError 503 without database. */
  verify(token: string): Promise<Actor | null>;
  revoke(selector: TokenSelector, context: RequestContext): Promise<TokenRow[]>;
  /** Writes the last uses that are still in memory. */
  close(): Promise<void>;
}

export interface TokenVerifierDeps {
  db: Database;
  logger: Logger;
  /** Tells of tokens that other processes revoke. */
  changes?: Pick<ChangeFeed, 'on'>;
  /** ADMIN_TOKEN of the environment. */
  adminToken?: string | undefined;
}

function inputFaults({ name, role, expiresAt }: TokenInput): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const fault = (attribute: string, detail: string) =>
    faults.push({ detail, source: { pointer: `/data/attributes/${attribute}` } });
  // Digits only would be taken for an id where either may stand.
  if (!/^(?!\d+$)[^\p{Cc}]{1,100}$/u.test(name)) {
    fault('name', 'name must have 1 to 100 characters and not only digits');
  }
  if (!ROLES.includes(role)) fault('role', `role must be one of ${ROLES.join(', ')}`);
  const time = expiresAt?.getTime();
  if (time !== undefined && !(time > Date.now())) {
    fault('expires_at', 'expires_at must be a time in the future');
  }
  return faults;
}

/** AppError 422 for a bad name, role or time of expiry. */
export async function createToken(
  db: Database,
  input: TokenInput,
  context: RequestContext,
): Promise<CreatedToken> {
  const faults = inputFaults(input);
  if (faults.length > 0) throw validationError(faults);
  const { name, role, expiresAt = null } = input;
  const token = newToken();
  const row = await inTransaction(db, async (trx) => {
    const created = await insertToken(trx, { name, role, expiresAt, tokenHash: hashToken(token) });
    await writeAudit(trx, {
      context,
      action: 'tokens.create',
      targetType: 'tokens',
      targetId: created.id,
      outcome: 'success',
      changes: createdWith({ name, role, expires_at: expiresAt }),
    });
    return created;
  });
  return { token, row };
}

/** Revokes one token by id, or all of a name. AppError 404 when none is left to revoke. */
export async function revokeToken(
  db: Database,
  selector: TokenSelector,
  context: RequestContext,
): Promise<TokenRow[]> {
  return await inTransaction(db, async (trx) => {
    const rows = await revokeTokens(trx, selector);
    if (rows.length === 0) {
      throw notFound(`a valid token ${'id' in selector ? selector.id : `"${selector.name}"`}`);
    }
    for (const { id, name, role, revoked_at } of rows) {
      await writeAudit(trx, {
        context,
        action: 'tokens.revoke',
        targetType: 'tokens',
        targetId: id,
        outcome: 'success',
        changes: { revoked_at: [null, revoked_at] },
        details: { name, role },
      });
    }
    return rows;
  });
}

export function allTokens(db: Database): Promise<TokenRow[]> {
  return listTokens(db.knex);
}

/** Finds tokens by their hash, remembers them for seconds, and notes their use. */
export function createTokenVerifier(deps: TokenVerifierDeps): TokenVerifier {
  const { db, changes, adminToken } = deps;
  const adminHash = adminToken === undefined ? undefined : hashToken(adminToken);
  const lookup = new TokenLookup(db);
  const lastUse = createLastUse(deps);

  async function verify(token: string): Promise<Actor | null> {
    const hash = hashToken(token);
    if (adminHash && timingSafeEqual(hash, adminHash)) {
      return { name: 'ADMIN_TOKEN', role: 'admin' };
    }
    const row = await lookup.find(hash);
    if (!row || (row.expires_at !== null && row.expires_at.getTime() <= Date.now())) return null;
    lastUse.note(row.id);
    return { name: row.name, role: row.role };
  }

  async function revoke(selector: TokenSelector, context: RequestContext): Promise<TokenRow[]> {
    const rows = await revokeToken(db, selector, context);
    lookup.forget();
    return rows;
  }

  changes?.on('tokens', () => lookup.forget());
  return { verify, revoke, close: () => lastUse.close() };
}
