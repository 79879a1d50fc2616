import type { Knex } from 'knex';

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
export interface AccountRemarks {
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
      ...{ status: 'ok', status_at: trx.fn.now(), confirmed_at: trx.fn.now() },
    });
}
