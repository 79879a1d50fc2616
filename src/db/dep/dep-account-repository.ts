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

/** What Apple tells of an account, as its row keeps it. */
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

/** Whom the account was of before. */
export type FormerServer = Pick<AccountDetailColumns, 'server_uuid' | 'org_id'>;

/** Of an account with this token still, and locked; undefined where it has another one, or is gone. */
export async function lockFormerServer(
  trx: Knex.Transaction,
  { id, consumer_key }: { id: number; consumer_key: string },
): Promise<FormerServer | undefined> {
  return await trx('dep_accounts')
    .where({ id, consumer_key })
    .forUpdate()
    .first<FormerServer | undefined>('server_uuid', 'org_id');
}

/** Other accounts with a token that are of the same server at Apple, as far as they are known. */
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

/** What people should know of an account whose token Apple takes. */
interface AccountRemarks {
  status_text: string | null;
  status_advice: string | null;
}

/** Writes it, with what people should know of it, and that Apple takes the token. */
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
