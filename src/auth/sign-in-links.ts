import { randomBytes } from 'node:crypto';
import {
  findTokenToLink,
  hasSignInBegun,
  insertSignInLink,
  type LinkedToken,
  spendSignInLink,
} from '../db/admin/sign-in-link-repository.js';
import type { TokenSelector } from '../db/admin/token-repository.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { AppError, notFound } from '../errors.js';
import { systemContext, writeAudit } from '../events/audit.js';
import type { Actor, AuditContext } from '../jsonapi/context.js';
import { hashToken } from './api-tokens.js';
import { ENVIRONMENT_TOKEN } from './token-verifier.js';

export interface SignInLink {
  /** With the secret in its fragment, which browsers do not send and servers do not log. */
  url: string;
  token: LinkedToken;
  expiresAt: Date;
}

export interface SignInLinkDeps {
  db: Database;
  publicUrl: string;
  /** ADMIN_TOKEN of the environment. */
  adminToken?: string | undefined;
}

export const LINK_MINUTES = 60;
const SECRET_BYTES = 32;

const SPENT =
  'the link has been used, has expired or is unknown: make another by `npm run muster -- link console`, ' +
  'or `muster link console` where Muster is installed, or sign in with a token';
const NO_ADMIN_TOKEN =
  'no admin token is valid: make one by `muster token create --name NAME --role admin`';

/**
 * Makes a link that signs in as the token of the selector: by default ADMIN_TOKEN where it is set, else
 * the oldest admin token. AppError 404 for one that is not there or has ended.
 */
export async function createSignInLink(
  deps: SignInLinkDeps,
  context: AuditContext,
  selector?: TokenSelector,
): Promise<SignInLink> {
  return await inTransaction(deps.db, (trx) => insertLink(trx, { deps, context, selector }));
}

/** The link of the first start: undefined once there was one, or a session. */
export async function createFirstSignInLink(deps: SignInLinkDeps): Promise<SignInLink | undefined> {
  return await inTransaction(deps.db, async (trx) => {
    if (await hasSignInBegun(trx)) return undefined;
    return await insertLink(trx, { deps, context: systemContext(), selector: undefined });
  });
}

interface NewLink {
  deps: SignInLinkDeps;
  context: AuditContext;
  selector: TokenSelector | undefined;
}

async function insertLink(
  trx: Transaction,
  { deps, context, selector }: NewLink,
): Promise<SignInLink> {
  const token = await tokenOf(trx, deps, selector);
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const { id, expires_at: expiresAt } = await insertSignInLink(trx, {
    tokenId: token.id,
    secretHash: hashToken(secret),
    lifetime: LINK_MINUTES * 60_000,
  });
  await writeAudit(trx, {
    context,
    action: 'sign_in_links.create',
    targetType: 'sign_in_links',
    targetId: id,
    outcome: 'success',
    details: { token_id: token.id, name: token.name, role: token.role, expires_at: expiresAt },
  });
  return { url: `${deps.publicUrl}/sign-in#${secret}`, token, expiresAt };
}

async function tokenOf(
  trx: Transaction,
  { adminToken }: SignInLinkDeps,
  selector: TokenSelector | undefined,
): Promise<LinkedToken> {
  if (selector === undefined && adminToken !== undefined) {
    return { id: null, name: ENVIRONMENT_TOKEN, role: 'admin' };
  }
  const found = await findTokenToLink(trx, selector);
  if (found !== undefined) return found;
  if (selector === undefined) throw new AppError('not_found', 404, NO_ADMIN_TOKEN);
  throw notFound(`a valid token ${'id' in selector ? selector.id : `"${selector.name}"`}`);
}

/**
 * Spends a link in the caller's transaction, which a failure rolls back. Undefined when it is unknown,
 * spent or expired, or when its token has ended.
 */
export async function spendLink(
  trx: Transaction,
  secret: string,
  { adminToken }: Pick<SignInLinkDeps, 'adminToken'>,
): Promise<{ actor: Actor; linkId: number } | undefined> {
  const spent = await spendSignInLink(trx, hashToken(secret));
  if (spent === undefined || (spent.id === null && adminToken === undefined)) return undefined;
  const { id, name, role, linkId } = spent;
  return { actor: { name, role, tokenId: id ?? undefined }, linkId };
}

export function linkRefused(): AppError {
  const headers = { 'WWW-Authenticate': 'Bearer realm="muster"' };
  return new AppError('unauthorized', 401, SPENT, { headers });
}
