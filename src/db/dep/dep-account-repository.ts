import type { Knex } from 'knex';

/** An account of Apple's enrollment program with what its service is called with; secrets sealed. */
export interface DepTokenRecord {
  id: number;
  consumer_key: string | null;
  access_token: string | null;
  sealed_consumer_secret: Buffer | null;
  sealed_access_secret: Buffer | null;
  access_token_expiry: Date | null;
  /** Of a service other than the one that the server is configured for. */
  url: string | null;
  is_lab: boolean;
  status: DepAccountStatus;
}

export type DepAccountStatus =
  | 'unconfirmed'
  | 'ok'
  | 'terms_not_signed'
  | 'token_rejected'
  | 'token_expired'
  | 'throttled'
  | 'unreachable'
  | 'error'
  | 'lab_off';

/** The token that a status is true of. */
export interface DepTokenKey {
  id: number;
  consumerKey: string;
  accessToken: string;
}

export interface DepStatusValues {
  status: DepAccountStatus;
  /** At most 500 characters. */
  text: string | null;
  advice: string | null;
}

/** undefined: there is no such account. */
export async function findDepToken(knex: Knex, id: number): Promise<DepTokenRecord | undefined> {
  return await knex('dep_accounts')
    .where({ id })
    .first<DepTokenRecord | undefined>(
      ...['id', 'consumer_key', 'access_token', 'sealed_consumer_secret', 'sealed_access_secret'],
      ...['access_token_expiry', 'url', 'is_lab', 'status'],
    );
}

const WRITE_STATUS = `
update dep_accounts
set status = :status, status_text = :text, status_advice = :advice, status_at = now()
where id = :id and consumer_key = :consumerKey and access_token = :accessToken
  and (status, status_text, status_advice)
    is distinct from (cast(:status as text), cast(:text as text), cast(:advice as text))
  and (status, cast(:status as text)) is distinct from ('ok', 'ok')
returning id`;

/**
 * Says how the account's token does. Returns whether anything changed: nothing does where it is said
 * already (what a confirmation has found stays while all is well), nor where the account has another token by now, of which it would not be true.
 */
export async function writeDepStatus(
  knex: Knex,
  key: DepTokenKey,
  values: DepStatusValues,
): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(WRITE_STATUS, { ...key, ...values });
  return rows.length > 0;
}
