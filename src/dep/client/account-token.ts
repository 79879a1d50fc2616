import { serviceUrl } from '../../config/values.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import {
  type DepAccountStatus,
  type DepTokenKey,
  type DepTokenRecord,
  findDepToken,
} from '../../db/dep/dep-account-repository.js';
import { AppError, notFound } from '../../errors.js';
import { DepError } from './dep-error.js';
import type { OAuthCredentials } from './oauth.js';

/** An account's stored token, its secrets opened. */
export interface AccountToken extends DepTokenKey, OAuthCredentials {
  expiry: Date | null;
  /** URL of the service, without a trailing slash. */
  base: string;
  isLab: boolean;
  /** As read. */
  status: DepAccountStatus;
}

export interface DepTokenDeps {
  db: Database;
  box: SecretBox;
  /** Origin of the service for accounts without a `url`. */
  host: string;
}

/** AppError 404 unknown account; 409 `no_dep_account` for one without a complete token. */
export async function readToken(
  { db, box, host }: DepTokenDeps,
  id: number,
): Promise<AccountToken> {
  const row = await findDepToken(db.knex, id);
  if (row === undefined) throw notFound(`dep_accounts ${id}`);
  const { consumer_key: consumerKey, access_token: accessToken } = row;
  const consumerSecret = open(box, row, 'consumer_secret');
  const accessSecret = open(box, row, 'access_secret');
  const credentials = { consumerKey, accessToken, consumerSecret, accessSecret };
  return {
    ...requireWholeToken(credentials, id),
    id,
    expiry: row.access_token_expiry,
    isLab: row.is_lab,
    status: row.status,
    base: (row.url ?? host).replace(/\/+$/, ''),
  };
}

/** Why the token must not be used, without asking Apple; undefined if it may. */
export function tokenFailure(
  { expiry, isLab, base }: AccountToken,
  { isLabOn, now }: { isLabOn: boolean; now: number },
): DepError | undefined {
  if (isLab !== isLabOn) {
    const message = isLab
      ? 'the token is of the lab, which is off'
      : "the lab is on, and the token is Apple's: no request is sent";
    return new DepError('lab_off', message);
  }
  if (expiry !== null && expiry.getTime() <= now) {
    return new DepError('token_expired', `the token has expired at ${expiry.toISOString()}`);
  }
  if (!serviceUrl.safeParse(base).success) {
    const message = 'the url of the account must be https (http for loopback only)';
    return new DepError('unreachable', message);
  }
  return undefined;
}

function open(
  box: SecretBox,
  row: DepTokenRecord,
  name: 'consumer_secret' | 'access_secret',
): string | null {
  const sealed = row[`sealed_${name}`];
  if (sealed === null) return null;
  return box.open(sealed, `dep_accounts/${row.id}/${name}`).toString('utf8');
}

function requireWholeToken(
  given: { [name in keyof OAuthCredentials]: string | null },
  id: number,
): OAuthCredentials {
  const { consumerKey, consumerSecret, accessToken, accessSecret } = given;
  if (!consumerKey || !consumerSecret || !accessToken || !accessSecret) {
    const message = `dep_accounts ${id} has no token: upload one at POST /dep/stoken/upload`;
    throw new AppError('no_dep_account', 409, message);
  }
  return { consumerKey, consumerSecret, accessToken, accessSecret };
}
