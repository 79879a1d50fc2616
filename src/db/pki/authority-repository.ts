import type { Knex } from 'knex';
import type { CertificateRecord } from './certificate-repository.js';

export interface AuthorityRow {
  id: number;
  der: Buffer;
  /** It issues the identities of devices now. */
  issues_identities: boolean;
  revoked_at: Date | null;
  key_fingerprint: string | null;
  sealed_pkcs8: Buffer | null;
}

/** How many devices depend on a CA. */
export interface AuthorityUse {
  /** Devices with a valid identity that it issued. */
  devices: number;
  /** When the last of these identities ends; null without any. */
  last_not_after: Date | null;
}

export interface AuthorityUseRow extends AuthorityUse {
  id: number;
  subject: string;
  fingerprint_sha256: string;
  not_after: Date;
  issues_identities: boolean;
  revoked_at: Date | null;
}

/** Advisory lock of the one process that makes a certificate authority. */
const AUTHORITY_LOCK = 0x6d75_6361;

/** Locks until the transaction ends: one process at a time creates a CA or chooses the issuing one. */
export async function lockAuthority(trx: Knex.Transaction): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(?)', [AUTHORITY_LOCK]);
}

/** The trusted CAs, which are not revoked, newest first, with their sealed keys. */
export async function listAuthorities(knex: Knex): Promise<AuthorityRow[]> {
  return await authorities(knex).whereNull('c.revoked_at');
}

/** The CAs made here, revoked ones too, newest first. */
export async function listOwnAuthorities(knex: Knex): Promise<AuthorityRow[]> {
  return await authorities(knex).where({ 'c.is_own_ca': true }).whereNotNull('k.sealed_pkcs8');
}

/** Stores a CA made here and makes it the issuing one. Returns the id. */
export async function insertIssuingAuthority(
  trx: Knex.Transaction,
  record: CertificateRecord,
): Promise<number> {
  await trx('certificates').where({ issues_identities: true }).update({ issues_identities: false });
  const [row] = await trx('certificates')
    .insert({ ...record, is_own_ca: true, issues_identities: true })
    .returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('insert returned no row');
  return row.id;
}

/** The CAs made here, newest first, with what depends on each. */
export async function listAuthorityUses(knex: Knex): Promise<AuthorityUseRow[]> {
  const { rows } = await knex.raw<{ rows: AuthorityUseRow[] }>(`
    select a.id, a.subject, a.fingerprint_sha256, a.not_after, a.issues_identities, a.revoked_at,
      count(distinct i.device_id) as devices,
      max(c.not_after) filter (where i.device_id is not null) as last_not_after
    from certificates a
    left join certificates c on c.purpose = 'mdm.device' and c.issuer = a.subject
    left join device_identities i on i.fingerprint = c.fingerprint
      and i.state in ('active', 'renewal')
    where a.is_own_ca
    group by a.id
    order by a.id desc`);
  return rows;
}

function authorities(knex: Knex) {
  return knex('certificates as c')
    .leftJoin('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
    .where({ 'c.purpose': 'mdm.cacert', 'c.is_ca': true })
    .orderBy('c.id', 'desc')
    .select<AuthorityRow[]>(
      'c.id',
      'c.der',
      'c.issues_identities',
      'c.revoked_at',
      'k.fingerprint_sha256 as key_fingerprint',
      'k.sealed_pkcs8',
    );
}
