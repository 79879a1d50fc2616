import type { Knex } from 'knex';
import { type Database, runStatement } from '../connection/database.js';

/** A DEP account, and the key whose certificate Apple has for its server. */
export interface TokenAccount {
  id: number;
  /** Assigned by Apple. */
  server_uuid: string | null;
  fingerprint_sha256: string | null;
  sealed_pkcs8: Buffer | null;
}

const FIND = {
  name: 'token_account',
  text: `
select a.id, a.server_uuid, k.fingerprint_sha256, k.sealed_pkcs8
from devices d
left join dep_profiles p on p.id = d.dep_profile_id
join dep_accounts a on a.id = coalesce((
    select x.dep_account_id from dep_devices x
    where x.device_id = d.id and x.removed_at is null and x.listed_at is not null
    order by coalesce(x.dep_account_id = p.dep_account_id, false) desc, x.told_at desc nulls last
    limit 1),
  p.dep_account_id, (select min(id) from dep_accounts having count(*) = 1))
left join certificates c on c.id = a.token_certificate_id
left join rsa_private_keys k on k.id = c.rsa_private_key_id
where d.id = $1`,
};

/** The account that lists the device; else that of its profile; else the only one. */
export async function findTokenAccount(
  db: Database,
  deviceId: number,
): Promise<TokenAccount | undefined> {
  const { rows } = await runStatement<TokenAccount>(db, FIND, [deviceId]);
  return rows[0];
}

/** Whether an account has what signing its tokens needs. */
export async function hasTokenAccount(knex: Knex): Promise<boolean> {
  const row = await knex('dep_accounts as a')
    .join('certificates as c', 'c.id', 'a.token_certificate_id')
    .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .whereNotNull('a.server_uuid')
    .where('k.key_type', 'RSA')
    .first('a.id');
  return row !== undefined;
}
