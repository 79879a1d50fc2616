import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  insertTokenHolder,
  lockTokenHolder,
  type TokenHolder,
} from '../../db/dep/dep-token-repository.js';
import { AppError } from '../../errors.js';

/** The account for a token, locked. */
export interface TokenAccount {
  account: TokenHolder;
  /** replaced: the account belonged to another server at Apple, or had no token. */
  outcome: 'created' | 'renewed' | 'replaced';
}

interface TokenToPlace {
  consumerKey: string;
  /** The account that the certificate was made for. */
  intendedId: number | null;
  isForced: boolean;
}

/**
 * The account of the token's consumer key, or a new one. A token for the certificate of an account
 * fits only that account. AppError 409 `token_mismatch`.
 */
export async function findTokenAccount(
  trx: Transaction,
  { consumerKey, intendedId, isForced }: TokenToPlace,
): Promise<TokenAccount> {
  const account = await lockTokenHolder(trx, { consumer_key: consumerKey });
  if (account !== undefined) {
    if (intendedId !== null && intendedId !== account.id)
      throw otherAccountError(intendedId, account.id);
    return { account, outcome: 'renewed' };
  }
  if (intendedId !== null) return intendedAccount(trx, intendedId, isForced);
  return newAccount(trx, consumerKey);
}

function otherAccountError(intendedId: number, id: number): AppError {
  return mismatch(
    `the certificate was downloaded for account ${intendedId}, but the token is of the server at ` +
      `Apple that account ${id} is of. Download a certificate for account ${id} ` +
      `(GET /dep/certificate/download?account=${id}), or upload it to the right server's entry at ` +
      "Apple's portal",
  );
}

async function intendedAccount(
  trx: Transaction,
  id: number,
  isForced: boolean,
): Promise<TokenAccount> {
  const account = await lockTokenHolder(trx, { id });
  if (account === undefined) throw new Error(`account ${id} disappeared while it was locked`);
  if (account.consumer_key !== null && !isForced) throw otherServerError(id);
  return { account, outcome: 'replaced' };
}

/** If the same new token is uploaded twice at once, the second upload waits here and renews. */
async function newAccount(trx: Transaction, consumer_key: string): Promise<TokenAccount> {
  const id = await insertTokenHolder(trx, consumer_key);
  const account = await lockTokenHolder(trx, id === undefined ? { consumer_key } : { id });
  if (account === undefined)
    throw mismatch('the account was deleted meanwhile; upload the token again');
  return { account, outcome: id === undefined ? 'renewed' : 'created' };
}

function mismatch(message: string): AppError {
  return new AppError('token_mismatch', 409, message);
}

function otherServerError(intendedId: number): AppError {
  return mismatch(
    `the certificate was downloaded for account ${intendedId}, but the token is of another server at ` +
      'Apple (its consumer_key differs). To switch this account to that server (its own devices are ' +
      'dropped), repeat with ?force=true. To add the server as a separate account, download a ' +
      'certificate without ?account',
  );
}
