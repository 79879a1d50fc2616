import type { Knex } from 'knex';

/** A DEP account with the token for calls of Apple's service; its secrets are sealed. */
export interface DepTokenRecord {
  id: number;
  consumer_key: string | null;
  access_token: string | null;
  sealed_consumer_secret: Buffer | null;
  sealed_access_secret: Buffer | null;
  access_token_expiry: Date | null;
  /** URL of another service than the configured one; null: the configured one. */
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

/** The account and token that a status is about. */
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

/** undefined for an unknown account. */
export async function findDepToken(knex: Knex, id: number): Promise<DepTokenRecord | undefined> {
  return await knex('dep_accounts')
    .where({ id })
    .first<DepTokenRecord | undefined>(
      'id',
      'consumer_key',
      'access_token',
      'sealed_consumer_secret',
      'sealed_access_secret',
      'access_token_expiry',
      'url',
      'is_lab',
      'status',
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
 * Writes the token's status. Returns false if nothing was written: the status was already stored (an
 * `ok` never overwrites an `ok`, so remarks of the confirmation stay), or the account has another
 * token by now.
 */
export async function writeDepStatus(
  knex: Knex,
  key: DepTokenKey,
  values: DepStatusValues,
): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(WRITE_STATUS, { ...key, ...values });
  return rows.length > 0;
}

/** Apple's account details, by the columns of `dep_accounts`. */
export interface AccountDetailColumns {
  server_name: string | null;
  server_uuid: string | null;
  admin_id: string | null;
  facilitator_id: string | null;
  org_name: string | null;
  org_email: string | null;
  org_phone: string | null;
  org_address: string | null;
  org_id: string | null;
  org_id_hash: string | null;
  org_type: 'edu' | 'org' | null;
  org_version: 'v1' | 'v2' | null;
}

/** The server and organization that the account belonged to before. */
export type FormerServer = Pick<AccountDetailColumns, 'server_uuid' | 'org_id'>;

/** Locks the account; undefined if it was deleted or has another token. */
export async function lockFormerServer(
  trx: Knex.Transaction,
  { id, consumer_key }: { id: number; consumer_key: string },
): Promise<FormerServer | undefined> {
  return await trx('dep_accounts')
    .where({ id, consumer_key })
    .forUpdate()
    .first<FormerServer | undefined>('server_uuid', 'org_id');
}

/** Ids of other accounts with a token for the same server at Apple. */
export async function listAccountsOfServer(
  trx: Knex.Transaction,
  { id, server_uuid }: { id: number; server_uuid: string | null },
): Promise<number[]> {
  if (server_uuid === null) return [];
  return await trx('dep_accounts')
    .whereNot({ id })
    .whereNotNull('consumer_key')
    // UUIDs come with and without dashes.
    .whereRaw("lower(replace(server_uuid, '-', '')) = lower(replace(?, '-', ''))", [server_uuid])
    .orderBy('id')
    .pluck<number[]>('id');
}

/** Status of an account whose token works. */
interface AccountRemarks {
  status_text: string | null;
  status_advice: string | null;
}

/** Stores the account details and remarks, with the status `ok`. */
export async function confirmAccount(
  trx: Knex.Transaction,
  id: number,
  columns: AccountDetailColumns & AccountRemarks,
): Promise<void> {
  await trx('dep_accounts')
    .where({ id })
    .update({
      ...columns,
      status: 'ok',
      status_at: trx.fn.now(),
      confirmed_at: trx.fn.now(),
    });
}
