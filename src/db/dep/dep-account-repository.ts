import type { Knex } from 'knex';

/** An account of Apple's enrollment program with what its service is called with; secrets sealed. */
export interface ProgramTokenRecord {
  id: number;
  consumer_key: string | null;
  access_token: string | null;
  sealed_consumer_secret: Buffer | null;
  sealed_access_secret: Buffer | null;
  access_token_expiry: Date | null;
  /** Of a service other than the one that the server is configured for. */
  url: string | null;
  is_lab: boolean;
  status: ProgramAccountStatus;
}

export type ProgramAccountStatus =
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
export interface ProgramTokenKey {
  id: number;
  consumerKey: string;
  accessToken: string;
}

export interface ProgramStatusValues {
  status: ProgramAccountStatus;
  /** At most 500 characters. */
  text: string | null;
  advice: string | null;
}

/** undefined: there is no such account. */
export async function findProgramToken(
  knex: Knex,
  id: number,
): Promise<ProgramTokenRecord | undefined> {
  return await knex('dep_accounts')
    .where({ id })
    .first<ProgramTokenRecord | undefined>(
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
export async function writeProgramStatus(
  knex: Knex,
  key: ProgramTokenKey,
  values: ProgramStatusValues,
): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(WRITE_STATUS, { ...key, ...values });
  return rows.length > 0;
}
