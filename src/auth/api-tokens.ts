import { createHash, randomBytes } from 'node:crypto';
import { deleteSessionsOf } from '../db/admin/session-repository.js';
import {
  insertToken,
  listTokens,
  revokeTokens,
  type TokenRow,
  type TokenSelector,
  tokenById,
} from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { type ErrorDetail, notFound, validationError } from '../errors.js';
import { createdWith, writeAudit } from '../events/audit.js';
import { type RequestContext, ROLES, type Role } from '../jsonapi/context.js';

export interface TokenInput {
  name: string;
  role: Role;
  expiresAt?: Date | null | undefined;
}

export interface CreatedToken {
  /** Shown only now: the database keeps its hash. */
  token: string;
  row: TokenRow;
}

const PREFIX = 'mst_';
const TOKEN_BYTES = 32;

/** A new token: secret scanners find it by its prefix, 256 random bits make it unguessable. */
export function newToken(): string {
  return PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');
}

/** What is stored and looked up: SHA-256. A fast hash is enough for 256 random bits. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** AppError 422 for an invalid name, role or time of expiry. */
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

/** Revokes one token by id, or all with a name, and ends their sessions. AppError 404 if there is none to revoke. */
export async function revokeToken(
  db: Database,
  selector: TokenSelector,
  context: RequestContext,
): Promise<TokenRow[]> {
  return await inTransaction(db, async (trx) => {
    const rows = await endTokens(trx, selector);
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

/** Revokes a token in the caller's transaction. `isNew`: it was not revoked before; undefined: there is none. */
export async function endToken(
  trx: Transaction,
  id: number,
): Promise<(TokenRow & { isNew: boolean }) | undefined> {
  const [ended] = await endTokens(trx, { id });
  const row = ended ?? (await tokenById(trx, id));
  return row && { ...row, isNew: ended !== undefined };
}

/** Revokes the tokens that are not revoked yet, and ends their sessions. */
async function endTokens(trx: Transaction, selector: TokenSelector): Promise<TokenRow[]> {
  const rows = await revokeTokens(trx, selector);
  await deleteSessionsOf(
    trx,
    rows.map(({ id }) => id),
  );
  return rows;
}

export function allTokens(db: Database): Promise<TokenRow[]> {
  return listTokens(db.knex);
}

function inputFaults({ name, role, expiresAt }: TokenInput): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  const addFault = (attribute: string, detail: string) =>
    faults.push({ detail, source: { pointer: `/data/attributes/${attribute}` } });
  // `muster token revoke` accepts an id or a name: a name of digits would be ambiguous.
  if (!/^(?!\d+$)[^\p{Cc}]{1,100}$/u.test(name)) {
    addFault('name', 'name must have 1 to 100 characters and not only digits');
  }
  if (!ROLES.includes(role)) addFault('role', `role must be one of ${ROLES.join(', ')}`);
  const time = expiresAt?.getTime();
  if (time !== undefined && !(time > Date.now())) {
    addFault('expires_at', 'expires_at must be a time in the future');
  }
  return faults;
}
