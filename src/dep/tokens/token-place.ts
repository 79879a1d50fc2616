import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  insertTokenHolder,
  lockTokenHolder,
  type TokenHolder,
} from '../../db/dep/dep-token-repository.js';
import { AppError } from '../../errors.js';

/** Where a token goes: the account is locked. */
export interface TokenAccount {
  account: TokenHolder;
  /** replaced: the account was of another server of Apple's, or had no token. */
  outcome: 'created' | 'renewed' | 'replaced';
}

interface TokenToPlace {
  consumerKey: string;
  /** The account that the certificate was made for. */
  meantFor: number | null;
  isForced: boolean;
}

function mismatch(message: string): AppError {
  return new AppError('token_mismatch', 409, message);
}

function otherAccountError(meantFor: number, id: number): AppError {
  return mismatch(
    `the certificate was downloaded for account ${meantFor}, but the token is of the server at ` +
      `Apple that account ${id} is of. Download a certificate for account ${id} ` +
      `(GET /dep/certificate/download?account=${id}), or upload it to the right server's entry at ` +
      "Apple's portal",
  );
}

function otherServerError(meantFor: number): AppError {
  return mismatch(
    `the certificate was downloaded for account ${meantFor}, but the token is of another server at ` +
      'Apple (its consumer_key differs). Repeat this with ?force=true to have the account go on with ' +
      "that server's devices in place of its own, or download a certificate without an account for " +
      'one more account',
  );
}

async function intendedAccount(
  trx: Transaction,
  id: number,
  isForced: boolean,
): Promise<TokenAccount> {
  const account = await lockTokenHolder(trx, { id });
  if (account === undefined) throw new Error(`account ${id} has gone while it was locked`);
  if (account.consumer_key !== null && !isForced) throw otherServerError(id);
  return { account, outcome: 'replaced' };
}

/** Two uploads at once of the same new token: the second one waits here, and renews. */
async function newAccount(trx: Transaction, consumer_key: string): Promise<TokenAccount> {
  const id = await insertTokenHolder(trx, consumer_key);
  const account = await lockTokenHolder(trx, id === undefined ? { consumer_key } : { id });
  if (account === undefined) throw mismatch('the account was removed meanwhile; try again');
  return { account, outcome: id === undefined ? 'renewed' : 'created' };
}

/**
 * The account of the token's consumer key, or a new one. A certificate that was made for an account
 * brings tokens for that alone. AppError 409 `token_mismatch`.
 */
export async function findTokenAccount(
  trx: Transaction,
  { consumerKey, meantFor, isForced }: TokenToPlace,
): Promise<TokenAccount> {
  const account = await lockTokenHolder(trx, { consumer_key: consumerKey });
  if (account !== undefined) {
    if (meantFor !== null && meantFor !== account.id) throw otherAccountError(meantFor, account.id);
    return { account, outcome: 'renewed' };
  }
  if (meantFor !== null) return intendedAccount(trx, meantFor, isForced);
  return newAccount(trx, consumerKey);
}
